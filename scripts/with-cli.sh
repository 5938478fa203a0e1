#!/bin/sh
# Runs a command with the environment in which acceptance tests and the demo
# find the Terraform or OpenTofu binary that scripts/terraform-cli.sh chooses.
set -eu

TF_CLI_PATH=$("$(dirname -- "$0")/terraform-cli.sh")
TF_ACC_TERRAFORM_PATH=$TF_CLI_PATH
export TF_CLI_PATH TF_ACC_TERRAFORM_PATH

# Neither CLI shall ask its maker for newer versions, nor read the user's own
# settings: a dev_overrides or a mirror there would change what is tested.
CHECKPOINT_DISABLE=1
TF_CLI_CONFIG_FILE=/dev/null
export CHECKPOINT_DISABLE TF_CLI_CONFIG_FILE

# A provider address without a host means another registry to OpenTofu, and
# the test harness has to serve the provider under the same one.
case $("$TF_CLI_PATH" version) in
OpenTofu*) TF_ACC_PROVIDER_HOST=registry.opentofu.org ;;
*) TF_ACC_PROVIDER_HOST=registry.terraform.io ;;
esac
export TF_ACC_PROVIDER_HOST

exec "$@"
