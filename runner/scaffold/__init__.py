"""Makes projects, and adds kinds and webhooks to them, without touching what people have written there."""
