#!/bin/sh
# Uploads the test reports of a CI job to `test-analytics receive`, with curl and tar. The GitHub action
# and the GitLab template in this folder run it; it runs anywhere with these variables:
#
#   TEST_ANALYTICS_URL       address of the upload door, such as https://reports.example
#   UPLOAD_TOKEN             of `test-analytics token create --org NAME --upload`
#   TEST_ANALYTICS_REPORTS   JUnit reports: files, folders (all *.xml below them) and globs, one a line;
#                            ** matches any number of folders
#   TEST_ANALYTICS_COVERAGE  coverage reports: files and globs, one a line
#   TEST_ANALYTICS_TAGS      tags of the tests, separated by commas
#   TEST_ANALYTICS_TIMEOUT   seconds that an upload may take (default: 120)
#   TEST_ANALYTICS_STRICT    true: exit code 1 when the upload fails; otherwise a warning and 0
#   TEST_ANALYTICS_REPOSITORY, _COMMIT, _BRANCH, _BUILD_URL   override what CI says
set -u

warn() {
  # On one line: a line that begins with :: is a command of GitHub Actions. Not with echo, which
  # turns \n into a line end in some shells.
  text="test-analytics: $(printf '%s' "$1" | tr '\000-\037' ' ' | cut -c 1-1000)"
  if [ "${GITHUB_ACTIONS:-}" = true ]; then prefix=::warning::; else prefix="WARNING: "; fi
  printf '%s\n' "$prefix$text"
}

give_up() {
  warn "nothing was uploaded: $1"
  if [ "${TEST_ANALYTICS_STRICT:-}" = true ]; then exit 1; else exit 0; fi
}

# A text inside of double quotes, in YAML.
quoted() { printf '%s' "$1" | tr -d '\000-\037' | sed 's/[\\"]/\\&/g'; }

encoded() { printf '%s' "$1" | sed 's/%/%25/g; s/ /%20/g; s/?/%3F/g; s/#/%23/g; s,/,%2F,g'; }

# Copies a file into a folder of the archive, below its own path.
pack() {
  path_inside=$(printf '%s' "$1" | sed 's,//*,/,g; s,^\(\.*/\)*,,; s,/\.\./,/,g')
  inside=$work/$2/$path_inside
  number=1
  while [ -e "$inside" ]; do
    # Reached twice, as by two globs.
    cmp -s "$1" "$inside" && return
    number=$((number + 1))
    inside=$work/$2/$number/$path_inside
  done
  mkdir -p "$(dirname "$inside")" && cp "$1" "$inside" && count=$((count + 1))
}

# What a glob matches, as the program reads it: the shell has no **. Hidden files are passed over, and
# links to folders are not followed.
matches() {
  case $1 in *[*?[{]*) ;; *) return ;; esac
  start=$(printf '%s' "$1" | sed 's,[*?[{].*,,; s,[^/]*$,,')
  [ -e "${start:-./}" ] || return
  find "${start:-./}" -name '.?*' ! -name .. -prune -o -print | GLOB=$1 awk '
    BEGIN {
      glob = ENVIRON["GLOB"]
      sub(/^(\.\/)+/, "", glob)
      depth = 0
      for (at = 1; at <= length(glob); at++) {
        sign = substr(glob, at, 1)
        isStart = at == 1 || substr(glob, at - 1, 1) == "/"
        if (substr(glob, at) == "/**") { pattern = pattern "(/.*)?"; break }
        else if (isStart && substr(glob, at, 3) == "**/") { pattern = pattern "([^/]+/)*"; at += 2 }
        else if (isStart && substr(glob, at) == "**") { pattern = pattern ".*"; at++ }
        else if (sign == "*") pattern = pattern "[^/]*"
        else if (sign == "?") pattern = pattern "[^/]"
        else if (sign == "[" && (end = index(substr(glob, at + 2), "]"))) {
          set = substr(glob, at + 1, end)
          sub(/^!/, "^", set)
          pattern = pattern "[" set "]"
          at += end + 1
        }
        else if (sign == "{") { pattern = pattern "("; depth++ }
        else if (sign == "}" && depth > 0) { pattern = pattern ")"; depth-- }
        else if (sign == "," && depth > 0) pattern = pattern "|"
        else if (sign ~ /[A-Za-z0-9_\/ -]/) pattern = pattern sign
        else if (sign == "^" || sign == "\\") pattern = pattern "\\" sign
        else if (sign ~ /[[.$()|+{}]/) pattern = pattern "[" sign "]"
        else pattern = pattern sign
      }
      pattern = "^" pattern "$"
    }
    { gsub(/\/\/+/, "/"); sub(/^(\.\/)+/, ""); sub(/\/$/, "") }
    $0 != "" && $0 ~ pattern'
}

# Copies what the lines of the first argument name.
pack_all() {
  count=0
  old_ifs=$IFS
  IFS='
'
  set -f
  for line in $(printf '%s\n' "$1" | sed 's/^[[:space:]]*//; s/[[:space:]]*$//'); do
    # A file whose name contains a bracket is that file.
    if [ -e "$line" ]; then paths=$line; else paths=$(matches "$line"); fi
    [ -n "$paths" ] || warn "$line: no such file or folder"
    for path in $paths; do
      # A link to a folder may lead back: it is followed only where it is named.
      if [ -d "$path" ] && [ -L "$path" ] && [ "$path" != "$line" ]; then continue; fi
      if [ -d "$path" ]; then
        # With the slash, of a link to a folder as well.
        for file in $(find "$path/" -type f -iname '*.xml'); do pack "$file" "$2"; done
      elif [ -f "$path" ]; then pack "$path" "$2"
      else warn "$path: no such file or folder"
      fi
    done
  done
  set +f
  IFS=$old_ifs
}

url=${TEST_ANALYTICS_URL:-}
url=${url%/}
[ -n "$url" ] || give_up "TEST_ANALYTICS_URL (the input url) is empty: expected the address of the upload door"
[ -n "${UPLOAD_TOKEN:-}" ] ||
  give_up "UPLOAD_TOKEN (the input token) is empty: create one with \`test-analytics token create --org NAME --upload\`; builds of forks have no secrets"
for program in curl tar; do
  command -v "$program" >/dev/null || give_up "$program is not installed"
done

if [ "${GITHUB_ACTIONS:-}" = true ]; then
  provider=github-actions
  repository=${GITHUB_REPOSITORY:-}
  commit=${GITHUB_SHA:-}
  branch=
  # With pull_request_target commit and branch belong to the base.
  [ "${GITHUB_EVENT_NAME:-}" = pull_request_target ] || branch=${GITHUB_HEAD_REF:-}
  case "${GITHUB_REF:-}" in refs/heads/*) branch=${branch:-${GITHUB_REF#refs/heads/}} ;; esac
  repository_url=${GITHUB_SERVER_URL:-https://github.com}/$repository
  build_url=$repository_url/actions/runs/${GITHUB_RUN_ID:-}
elif [ "${GITLAB_CI:-}" = true ]; then
  provider=gitlab-ci
  repository=${CI_PROJECT_PATH:-}
  commit=${CI_COMMIT_SHA:-}
  branch=${CI_MERGE_REQUEST_SOURCE_BRANCH_NAME:-${CI_COMMIT_BRANCH:-}}
  repository_url=${CI_PROJECT_URL:-}
  build_url=${CI_PIPELINE_URL:-}
else
  provider= repository= commit= branch= repository_url= build_url=
fi
repository=${TEST_ANALYTICS_REPOSITORY:-$repository}
commit=${TEST_ANALYTICS_COMMIT:-$commit}
branch=${TEST_ANALYTICS_BRANCH:-$branch}
build_url=${TEST_ANALYTICS_BUILD_URL:-$build_url}
case $repository in
  ?*/?*) ;;
  *) give_up "unknown repository \"$repository\": set TEST_ANALYTICS_REPOSITORY to OWNER/NAME" ;;
esac
[ -n "$commit" ] || give_up "unknown commit: set TEST_ANALYTICS_COMMIT"
# In a container the checkout may belong to another user.
git="git -c safe.directory=*"
tree=$($git rev-parse --verify --quiet "$commit^{tree}" 2>/dev/null) || tree=
checkout=$($git rev-parse --show-toplevel 2>/dev/null) || checkout=${GITHUB_WORKSPACE:-${CI_PROJECT_DIR:-}}

work=$(mktemp -d) || give_up "no temporary folder"
trap 'rm -rf "$work" "$work.gz" "$work.out"' EXIT
pack_all "${TEST_ANALYTICS_REPORTS:-}" test-results
reports=$count
pack_all "${TEST_ANALYTICS_COVERAGE:-}" coverage
[ $((reports + count)) -gt 0 ] ||
  give_up "no reports found: have the tests write them, such as \`pytest --junitxml=reports/junit.xml -o junit_family=xunit1\`"
for file in .github/CODEOWNERS CODEOWNERS docs/CODEOWNERS .gitlab/CODEOWNERS; do
  if [ -f "$checkout/$file" ]; then
    cp "$checkout/$file" "$work/CODEOWNERS"
    break
  fi
done
cat >"$work/buildpulse.yml" <<YAML
version: "1.0"
git:
  commit: "$(quoted "$commit")"
  tree: "$(quoted "$tree")"
  branch: "$(quoted "$branch")"
  checkout_folder: "$(quoted "$checkout")"
  repository: "$(quoted "$repository")"
  repository_url: "$(quoted "$repository_url")"
ci:
  provider: "$provider"
  build_url: "$(quoted "$build_url")"
tags: "$(quoted "${TEST_ANALYTICS_TAGS:-}")"
YAML
tar -czf "$work.gz" -C "$work" . || give_up "tar failed"

# The token is passed on standard input: other users can see arguments.
status=$(printf 'header = "Authorization: Bearer %s"\n' "$UPLOAD_TOKEN" |
  curl --config - --silent --show-error --connect-timeout 10 --retry 3 --retry-connrefused \
    --retry-max-time "${TEST_ANALYTICS_TIMEOUT:-120}" --max-time "${TEST_ANALYTICS_TIMEOUT:-120}" --header "Content-Type: application/gzip" \
    --upload-file "$work.gz" --output "$work.out" --write-out '%{http_code}' \
    "$url/upload/$(encoded "${repository%/*}")/$(encoded "${repository##*/}")" 2>"$work/error")
answer=$(cat "$work.out" 2>/dev/null)
case $status in
  202)
    key=$(printf '%s' "$answer" | sed 's/.*"key" *: *"\([^"]*\)".*/\1/' | tr -d '\000-\037')
    case $answer in *'"notes":'*) warn "$(printf '%s' "$answer" | sed 's/.*"notes"://; s/}$//')" ;; esac
    printf '%s\n' "test-analytics: stored $repository at $commit (reports: $reports, coverage files: $count): $key"
    [ -z "${GITHUB_OUTPUT:-}" ] || printf '%s\n' "key=$key" >>"$GITHUB_OUTPUT"
    ;;
  000 | 1??) give_up "$url does not answer: $(tail -n 1 "$work/error")" ;;
  401) give_up "$url does not accept UPLOAD_TOKEN: create one with \`test-analytics token create --org NAME --upload\`" ;;
  413) give_up "the reports are too large for $url: $answer" ;;
  503) give_up "$url cannot store anything now: its storage is full or unavailable" ;;
  *) give_up "$url answered $status: $answer" ;;
esac
