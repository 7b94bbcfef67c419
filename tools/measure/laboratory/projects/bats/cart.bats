setup_file() {
  export BATS_TEST_RETRIES=2
}

again() {
  local file="$BATS_FILE_TMPDIR/$BATS_TEST_NAME"
  [ -e "$file" ] || ! touch "$file"
}

@test "passes" {
  true
}

@test "always fails" {
  false
}

@test "fails then passes" {
  again
}

@test "passes then fails" {
  ! again
}

@test "is skipped" {
  skip
}
