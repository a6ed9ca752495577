"""Names of kinds in addresses: `Deployment`, or `Service.serving.knative.dev` where a built-in kind has the short name.

The name of a declared kind depends on its manifest alone, never on the cluster, because an address must not change when
another definition is installed.
"""

from __future__ import annotations

from typing import Final

# Kinds of Kubernetes itself by group. A custom kind with one of these names is written with its group.
_BUILT_IN: Final = {
    "": "Binding ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod "
    "PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount",
    "apps": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "batch": "CronJob Job",
    "autoscaling": "HorizontalPodAutoscaler",
    "policy": "PodDisruptionBudget PodSecurityPolicy",
    "networking.k8s.io": "Ingress IngressClass IPAddress NetworkPolicy ServiceCIDR",
    "extensions": "Ingress",
    "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "storage.k8s.io": "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass",
    "apiextensions.k8s.io": "CustomResourceDefinition",
    "apiregistration.k8s.io": "APIService",
    "admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingWebhookConfiguration ValidatingAdmissionPolicy "
    "ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration",
    "certificates.k8s.io": "CertificateSigningRequest ClusterTrustBundle",
    "coordination.k8s.io": "Lease",
    "discovery.k8s.io": "EndpointSlice",
    "events.k8s.io": "",  # its Event is another view of the core kind
    "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
    "node.k8s.io": "RuntimeClass",
    "resource.k8s.io": "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice",
    "scheduling.k8s.io": "PriorityClass",
}
_TAKEN: Final = frozenset(kind for kinds in _BUILT_IN.values() for kind in kinds.split())
# Built-in kinds that live in no namespace. A custom kind states its scope in its definition, and the server knows it.
_CLUSTER_SCOPED: Final = (
    "Namespace Node PersistentVolume PodSecurityPolicy IngressClass IPAddress ServiceCIDR ClusterRole "
    "ClusterRoleBinding CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass "
    "CustomResourceDefinition APIService MutatingAdmissionPolicy MutatingWebhookConfiguration "
    "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration "
    "CertificateSigningRequest ClusterTrustBundle FlowSchema PriorityLevelConfiguration RuntimeClass DeviceClass "
    "ResourceSlice PriorityClass"
)
CLUSTER_SCOPED: Final = frozenset(_CLUSTER_SCOPED.split())


def is_built_in(group: str) -> bool:
    """Return True if a group belongs to Kubernetes itself, so that no definition adds kinds to it."""
    return group in _BUILT_IN


def address_kind(group: str, kind: str) -> str:
    """Return the name of a kind in addresses."""
    return kind if is_built_in(group) or kind not in _TAKEN else f"{kind}.{group}"


def split(name: str) -> tuple[str, str | None]:
    """Return the kind and the group of a name; None if the name has no group."""
    kind, dot, group = name.partition(".")
    return kind, group if dot else None
