"""What can be proven about instruction sets without a model, and what each part of them rests on."""
