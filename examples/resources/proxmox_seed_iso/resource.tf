# A node of a Kubernetes cluster: its seed is prepared ahead, and its network is
# matched by the address of its device.
resource "proxmox_seed_iso" "k8s" {
  storage   = "seeds"
  host_name = "k8s-1"

  user_data = <<-EOT
    #cloud-config
    packages: [containerd, kubeadm, kubelet]
    runcmd:
      - [systemctl, enable, --now, containerd]
      - [kubeadm, init]
  EOT

  network_config = {
    version = 2
    ethernets = {
      eth0 = {
        match       = { macaddress = "bc:24:11:00:00:01" }
        set-name    = "eth0"
        addresses   = ["10.0.0.21/24"]
        routes      = [{ to = "0.0.0.0/0", via = "10.0.0.1" }]
        nameservers = { addresses = ["10.0.0.53"] }
      }
    }
  }
}

resource "proxmox_vm" "k8s" {
  name     = "k8s-1"
  template = 9000
  network  = { net0 = { bridge = "vmbr0", mac_address = "BC:24:11:00:00:01" } }
  cdrom    = { ide2 = { volume_id = proxmox_seed_iso.k8s.volume_id } }
}
