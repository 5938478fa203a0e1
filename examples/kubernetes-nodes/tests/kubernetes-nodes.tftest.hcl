variables {
  cluster    = "k8s"
  template   = 9000
  storage    = "shared-nfs"
  join_token = "abcdef.0123456789abcdef"
}

run "spread" {
  assert {
    condition     = length(distinct([for i in range(3) : output.placement["k8s-control-${i}"]])) == 3
    error_message = "Two members of the control plane share a node: ${jsonencode(output.placement)}"
  }
}

run "even" {
  command = plan

  variables {
    control_plane = 2
  }

  expect_failures = [var.control_plane]
}

run "more_workers" {
  variables {
    workers = 3
    before  = run.spread.placement
  }

  assert {
    condition     = length(proxmox_vm.machine) == 6 && output.placement["k8s-control-0"] == var.before["k8s-control-0"]
    error_message = "The control plane moved."
  }
}
