"""The pages of running tools: a gateway, a delay box."""
