"""What a reply claims, checked against the ledger: structured claims, and sentences."""
