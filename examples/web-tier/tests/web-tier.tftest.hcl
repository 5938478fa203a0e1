variables {
  seed_storage = "seeds"
  network = {
    bridge  = "vmbr0"
    prefix  = 24
    gateway = "10.0.0.1"
    admins  = ["10.0.9.0/24"]
  }
}

run "two_servers" {
  variables {
    servers = { web-a = "10.0.0.11", web-b = "10.0.0.12" }
  }

  assert {
    condition     = output.addresses["web-a"] == tolist(["10.0.0.11"])
    error_message = "web-a has ${jsonencode(output.addresses["web-a"])}."
  }

  assert {
    condition     = proxmox_vm.web["web-b"].status == "running"
    error_message = "web-b is ${proxmox_vm.web["web-b"].status}."
  }
}

# A third server leaves the others as they are.
run "third_server" {
  variables {
    servers = { web-a = "10.0.0.11", web-b = "10.0.0.12", web-c = "10.0.0.13" }
    before  = run.two_servers.vmids
  }

  assert {
    condition     = output.vmids["web-a"] == var.before["web-a"] && output.vmids["web-b"] == var.before["web-b"]
    error_message = "A server was replaced."
  }

  assert {
    condition     = length(proxmox_firewall.web) == 3
    error_message = "A server has no firewall."
  }
}
