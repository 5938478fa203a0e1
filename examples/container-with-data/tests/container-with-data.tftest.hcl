variables {
  hostname = "db"
  template = "local:vztmpl/debian-13-standard_13.1-1_amd64.tar.zst"
  data     = { storage = "local-lvm", size_gib = 10 }
}

run "first" {
  assert {
    condition     = proxmox_container.database.status == "running"
    error_message = "It is ${proxmox_container.database.status}."
  }

  assert {
    condition     = proxmox_container.database.mount_points["mp0"].in_backup
    error_message = "The data are in no backup."
  }
}

run "larger" {
  variables {
    data   = { storage = "local-lvm", size_gib = 20 }
    before = run.first.vmid
  }

  assert {
    condition     = output.vmid == var.before
    error_message = "It was replaced."
  }
}

run "next_release" {
  variables {
    template = "local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst"
    data     = { storage = "local-lvm", size_gib = 20 }
    before   = run.larger.vmid
  }

  assert {
    condition     = output.vmid == var.before && proxmox_container.database.status == "running"
    error_message = "It was replaced, and not reinstalled."
  }
}
