"""Azure Resource Manager: every resource type there is, through one generic provider.

    apiVersion: azure.holdfast.dev/v1
    kind: StorageAccount                          # a friendly name for a type; `types.yaml` has them all
    metadata: {name: logs}
    spec:
      resource:
        owner: {kind: ResourceGroup, name: platform}     # or {armId: /subscriptions/...}; see `references`
        azureName: contosologs                    # what it is called in Azure, if not as it is here
        location: westus2                         # from here on: the body of the PUT, word for word
        sku: {name: Standard_LRS}
        properties: {minimumTlsVersion: TLS1_2}

    kind: Resource                                # any type whatever
    spec:
      resource: {type: Microsoft.Maps/accounts, apiVersion: "2023-06-01", sku: {name: G2}, location: global}

Belongs here: ids, references, what is read and what is sent, long-running operations, quota, and the profile pack with
the habits of Azure's APIs. Must not be here: any decision, and any retry. Speaking to Azure needs azure-core,
azure-mgmt-core and azure-identity (`pip install holdfast[azure]`), which are imported when a connection is opened.
"""
