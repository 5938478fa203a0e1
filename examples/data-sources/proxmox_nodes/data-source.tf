data "proxmox_nodes" "all" {}

# One machine on each node that is up.
resource "proxmox_vm" "worker" {
  for_each = toset(data.proxmox_nodes.all.online)

  name     = "worker-${each.key}"
  node     = each.key
  template = 9000
}

# The node that answers the provider's requests.
output "answers" {
  value = one([for name, node in data.proxmox_nodes.all.nodes : name if node.answers_api == true])
}
