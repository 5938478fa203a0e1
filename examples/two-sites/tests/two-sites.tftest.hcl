# The sites come from TF_VAR_sites. The replica is taken as read: its job can be made
# only when the stand-in is there.

override_data {
  target = data.proxmox_replication.erp
  values = { ready = true }
}

run "at_dc1" {
  assert {
    condition     = proxmox_vm.erp_dc2.status == "stopped" && output.fence == null
    error_message = "The stand-in is ${proxmox_vm.erp_dc2.status}."
  }
}

run "moved" {
  variables {
    active = "dc2"
  }

  assert {
    condition     = output.fence == "fenced" && proxmox_vm.erp_dc2.status == "running"
    error_message = "The fence is ${coalesce(output.fence, "not there")}, the stand-in ${proxmox_vm.erp_dc2.status}."
  }
}

run "back" {
  assert {
    condition     = proxmox_vm.erp_dc2.status == "stopped" && output.fence == null
    error_message = "The service is still at dc2."
  }
}
