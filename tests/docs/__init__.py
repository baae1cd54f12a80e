"""The pages: what they tell people to type is typed, what they link to is there."""
