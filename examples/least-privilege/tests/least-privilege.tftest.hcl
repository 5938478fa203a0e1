variables {
  pool     = "terraform"
  template = 9000
}

run "enough" {
  assert {
    condition     = contains(["proven", "inferred"], output.privileges["vm.create"])
    error_message = "vm.create is ${output.privileges["vm.create"]}."
  }

  assert {
    condition     = proxmox_vm.this.pool == "terraform"
    error_message = "The VM is in the pool ${proxmox_vm.this.pool}."
  }
}

# This token may stop guests, and no node.
run "not_enough" {
  variables {
    also    = ["node.shutdown"]
    require = false
  }

  assert {
    condition     = output.privileges["node.shutdown"] == "missing" && !proxmox_connection.this.ready
    error_message = "The token may shut nodes down."
  }
}
