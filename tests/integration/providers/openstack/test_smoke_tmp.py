import time


def test_smoke(bench):
    t=time.time()
    net=bench.declare("Network","net",{"description":"hello","tags":["b","a"]})
    sub=bench.declare("Subnet","sub",{"networkId":"${Network/net.id}","cidr":"10.0.0.0/24","ipVersion":4})
    sg=bench.declare("SecurityGroup","sg",{"rules":[{"direction":"ingress","protocol":"tcp","portRangeMin":22,"portRangeMax":22}]})
    ro=bench.declare("Router","ro",{"interfaces":[{"subnetId":"${Subnet/sub.id}"}],"routes":[{"destination":"20.0.0.0/8","nexthop":"10.0.0.9"}]})
    po=bench.declare("Port","po",{"networkId":"${Network/net.id}","securityGroups":["${SecurityGroup/sg.id}"],"fixedIps":[{"subnetId":"${Subnet/sub.id}"}]})
    all=[net,sub,sg,ro,po]
    bench.made(*all); print("made",time.time()-t); t=time.time()
    bench.clean(*all); print("clean",time.time()-t)
    for r in bench.requests(0): print(r.method,r.path,r.status)
