terraform import proxmox_connection.dc1 dc1
