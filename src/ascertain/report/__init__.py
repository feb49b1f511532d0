"""What a person or a program wants to know of a ledger or of an app. Nothing is printed here."""
