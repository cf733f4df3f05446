package term
