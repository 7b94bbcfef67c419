#!/bin/sh
# Uploads the test reports of a CI job to `test-analytics receive`, with curl and tar. The GitHub action
# and the GitLab template in this folder run it; it runs anywhere with these variables:
#
#   TEST_ANALYTICS_URL       address of the upload door, such as https://reports.example
#   UPLOAD_TOKEN             of `test-analytics token create --org NAME --upload`; without one an identity
#                            token is used: GitHub's, if the job has the permission id-token: write
#   TEST_ANALYTICS_ID_TOKEN  identity token of another service, for TEST_ANALYTICS_URL
#   TEST_ANALYTICS_REPORTS   JUnit reports: files, folders (all *.xml below them) and globs, one a line;
#                            ** matches any number of folders
#   TEST_ANALYTICS_COVERAGE  coverage reports: files and globs, one a line
#   TEST_ANALYTICS_TAGS      tags of the tests, separated by commas
#   TEST_ANALYTICS_TIMEOUT   seconds that an upload may take (default: 120)
#   TEST_ANALYTICS_STRICT    true: exit code 1 when the upload fails; otherwise a warning and 0
#   TEST_ANALYTICS_REPOSITORY, _COMMIT, _TREE, _BRANCH, _ENVIRONMENT, _JOB, _SHARD, _ATTEMPT, _BUILD_URL
#                            override what CI says
#   TEST_ANALYTICS_EXIT_CODE how the tests ended (default: 1 in a job that failed, 0 in one that did not)
#   TEST_ANALYTICS_PATH_PREFIX  folder of the checkout that relative paths in reports begin at (default: found)
#   MATRIX                   on GitHub Actions the values of the matrix: ${{ toJSON(matrix) }}
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

# Neither quotes nor control characters nor a password in an address: no process is started to look for them.
is_simple() { case $1 in *[!A-Za-z0-9_./:,+=\ -]*) return 1 ;; esac; }

# A line of YAML with a text inside of double quotes.
yaml_line() {
  text=$2
  is_simple "$text" || text=$(printf '%s' "$text" | tr -d '\000-\037' | sed 's/[\\"]/\\&/g')
  printf '%s: "%s"\n' "$1" "$text"
}

# The variables of CI services that the upload door understands, and no other: made by
# tools/ci_template.ts from the table of services.
ci_names="
AGENT_NAME
AGENT_OS
AGENT_OSARCHITECTURE
BITBUCKET_BRANCH
BITBUCKET_BUILD_NUMBER
BITBUCKET_CLONE_DIR
BITBUCKET_COMMIT
BITBUCKET_GIT_HTTP_ORIGIN
BITBUCKET_PARALLEL_STEP
BITBUCKET_PARALLEL_STEP_COUNT
BITBUCKET_PR_DESTINATION_BRANCH
BITBUCKET_PR_ID
BITBUCKET_REPO_FULL_NAME
BITBUCKET_STEP_RUN_NUMBER
BRANCH_IS_PRIMARY
BRANCH_NAME
BUILDKITE
BUILDKITE_AGENT_NAME
BUILDKITE_BRANCH
BUILDKITE_BUILD_AUTHOR
BUILDKITE_BUILD_CHECKOUT_PATH
BUILDKITE_BUILD_URL
BUILDKITE_COMMIT
BUILDKITE_LABEL
BUILDKITE_MERGE_QUEUE_BASE_BRANCH
BUILDKITE_PARALLEL_JOB
BUILDKITE_PARALLEL_JOB_COUNT
BUILDKITE_PIPELINE_DEFAULT_BRANCH
BUILDKITE_PIPELINE_SLUG
BUILDKITE_PULL_REQUEST
BUILDKITE_PULL_REQUEST_REPO
BUILDKITE_REPO
BUILDKITE_RETRY_COUNT
BUILDKITE_STEP_KEY
BUILDKITE_TAG
BUILD_BUILDID
BUILD_DEFINITIONNAME
BUILD_REPOSITORY_NAME
BUILD_REPOSITORY_PROVIDER
BUILD_REPOSITORY_URI
BUILD_SOURCEBRANCH
BUILD_SOURCESDIRECTORY
BUILD_SOURCEVERSION
BUILD_SOURCEVERSIONAUTHOR
BUILD_URL
BUILD_VCS_NUMBER
CHANGE_AUTHOR
CHANGE_AUTHOR_DISPLAY_NAME
CHANGE_BRANCH
CHANGE_FORK
CHANGE_ID
CHANGE_TARGET
CHANGE_TITLE
CI
CIRCLECI
CIRCLE_BRANCH
CIRCLE_BUILD_URL
CIRCLE_JOB
CIRCLE_NODE_INDEX
CIRCLE_NODE_TOTAL
CIRCLE_PROJECT_REPONAME
CIRCLE_PROJECT_USERNAME
CIRCLE_PR_NUMBER
CIRCLE_PULL_REQUEST
CIRCLE_REPOSITORY_URL
CIRCLE_SHA1
CIRCLE_WORKFLOW_ID
CIRCLE_WORKING_DIRECTORY
CIRRUS_ARCH
CIRRUS_BRANCH
CIRRUS_BUILD_ID
CIRRUS_CHANGE_IN_REPO
CIRRUS_CHANGE_TITLE
CIRRUS_CI
CIRRUS_DEFAULT_BRANCH
CIRRUS_OS
CIRRUS_PR
CIRRUS_REPO_CLONE_URL
CIRRUS_REPO_FULL_NAME
CIRRUS_TAG
CIRRUS_TASK_NAME
CIRRUS_WORKING_DIR
CI_COMMIT_AUTHOR
CI_COMMIT_BRANCH
CI_COMMIT_PULL_REQUEST
CI_COMMIT_SHA
CI_COMMIT_SOURCE_BRANCH
CI_COMMIT_TAG
CI_COMMIT_TARGET_BRANCH
CI_DEFAULT_BRANCH
CI_JOB_ID
CI_JOB_NAME
CI_JOB_STARTED_AT
CI_MACHINE
CI_MERGE_REQUEST_EVENT_TYPE
CI_MERGE_REQUEST_IID
CI_MERGE_REQUEST_SOURCE_BRANCH_NAME
CI_MERGE_REQUEST_SOURCE_BRANCH_SHA
CI_MERGE_REQUEST_SOURCE_PROJECT_PATH
CI_MERGE_REQUEST_TARGET_BRANCH_NAME
CI_MERGE_REQUEST_TITLE
CI_NODE_INDEX
CI_NODE_TOTAL
CI_OPEN_MERGE_REQUESTS
CI_PIPELINE_CREATED_AT
CI_PIPELINE_ID
CI_PIPELINE_NAME
CI_PIPELINE_SOURCE
CI_PIPELINE_STARTED
CI_PIPELINE_URL
CI_PROJECT_DIR
CI_PROJECT_ID
CI_PROJECT_PATH
CI_PROJECT_URL
CI_REPO
CI_REPO_DEFAULT_BRANCH
CI_REPO_URL
CI_RUNNER_DESCRIPTION
CI_RUNNER_EXECUTABLE_ARCH
CI_STEP_NAME
CI_STEP_STARTED
CI_SYSTEM_PLATFORM
CI_WORKFLOW_NAME
CI_WORKSPACE
CODEBUILD_BATCH_BUILD_IDENTIFIER
CODEBUILD_BUILD_ID
CODEBUILD_BUILD_URL
CODEBUILD_RESOLVED_SOURCE_VERSION
CODEBUILD_SOURCE_REPO_URL
CODEBUILD_SOURCE_VERSION
CODEBUILD_SRC_DIR
CODEBUILD_START_TIME
CODEBUILD_WEBHOOK_BASE_REF
CODEBUILD_WEBHOOK_HEAD_REF
CODEBUILD_WEBHOOK_TRIGGER
DRONE
DRONE_BRANCH
DRONE_BUILD_LINK
DRONE_COMMIT_AUTHOR
DRONE_COMMIT_AUTHOR_NAME
DRONE_COMMIT_SHA
DRONE_PULL_REQUEST
DRONE_PULL_REQUEST_TITLE
DRONE_REPO
DRONE_REPO_BRANCH
DRONE_REPO_LINK
DRONE_SOURCE_BRANCH
DRONE_STAGE_ARCH
DRONE_STAGE_MACHINE
DRONE_STAGE_NAME
DRONE_STAGE_OS
DRONE_STAGE_STARTED
DRONE_STEP_NAME
DRONE_TAG
DRONE_TARGET_BRANCH
DRONE_WORKSPACE
EVENT_HEAD_COMMIT_AUTHOR_NAME
EVENT_ISSUE_NUMBER
EVENT_ISSUE_PULL_REQUEST_URL
EVENT_ISSUE_TITLE
EVENT_PULL_REQUEST_HEAD_REF
EVENT_PULL_REQUEST_HEAD_REPO_FULL_NAME
EVENT_PULL_REQUEST_HEAD_SHA
EVENT_PULL_REQUEST_NUMBER
EVENT_PULL_REQUEST_TITLE
EVENT_REPOSITORY_DEFAULT_BRANCH
EVENT_WORKFLOW_RUN_EVENT
EVENT_WORKFLOW_RUN_HEAD_BRANCH
EVENT_WORKFLOW_RUN_HEAD_COMMIT_AUTHOR_NAME
EVENT_WORKFLOW_RUN_HEAD_REPOSITORY_FULL_NAME
EVENT_WORKFLOW_RUN_HEAD_REPOSITORY_OWNER_LOGIN
EVENT_WORKFLOW_RUN_HEAD_SHA
EVENT_WORKFLOW_RUN_HTML_URL
EVENT_WORKFLOW_RUN_ID
EVENT_WORKFLOW_RUN_NAME
EVENT_WORKFLOW_RUN_PULL_REQUESTS_0_NUMBER
EVENT_WORKFLOW_RUN_RUN_ATTEMPT
FORGEJO_ACTIONS
GITEA_ACTIONS
GITHUB_ACTIONS
GITHUB_BASE_REF
GITHUB_EVENT_NAME
GITHUB_HEAD_REF
GITHUB_JOB
GITHUB_REF
GITHUB_REPOSITORY
GITHUB_RUN_ATTEMPT
GITHUB_RUN_ID
GITHUB_RUN_NUMBER
GITHUB_SERVER_URL
GITHUB_SHA
GITHUB_WORKFLOW
GITHUB_WORKSPACE
GITLAB_CI
GIT_BRANCH
GIT_COMMIT
GIT_URL
GIT_URL_1
HEAD_COMMIT
HEAD_FOLDER
HEAD_ORIGIN
HEAD_TREE
HEROKU_TEST_RUN_BRANCH
HEROKU_TEST_RUN_COMMIT_VERSION
HEROKU_TEST_RUN_ID
JENKINS_HOME
JENKINS_URL
JOB_NAME
MATRIX
NODE_NAME
RUNNER_ARCH
RUNNER_NAME
RUNNER_OS
SEMAPHORE
SEMAPHORE_AGENT_MACHINE_OS_IMAGE
SEMAPHORE_BLOCK_NAME
SEMAPHORE_GIT_BRANCH
SEMAPHORE_GIT_COMMIT_AUTHOR
SEMAPHORE_GIT_DIR
SEMAPHORE_GIT_PR_BRANCH
SEMAPHORE_GIT_PR_NAME
SEMAPHORE_GIT_PR_NUMBER
SEMAPHORE_GIT_PR_SLUG
SEMAPHORE_GIT_REF_TYPE
SEMAPHORE_GIT_REPO_SLUG
SEMAPHORE_GIT_SHA
SEMAPHORE_GIT_URL
SEMAPHORE_JOB_COUNT
SEMAPHORE_JOB_CREATION_TIME
SEMAPHORE_JOB_INDEX
SEMAPHORE_JOB_NAME
SEMAPHORE_ORGANIZATION_URL
SEMAPHORE_PIPELINE_NAME
SEMAPHORE_PROJECT_NAME
SEMAPHORE_WORKFLOW_ID
STAGE_NAME
SYSTEM_COLLECTIONURI
SYSTEM_JOBATTEMPT
SYSTEM_JOBNAME
SYSTEM_JOBPOSITIONINPHASE
SYSTEM_PARALLELEXECUTIONTYPE
SYSTEM_PHASENAME
SYSTEM_PULLREQUEST_ISFORK
SYSTEM_PULLREQUEST_PULLREQUESTID
SYSTEM_PULLREQUEST_PULLREQUESTNUMBER
SYSTEM_PULLREQUEST_SOURCEBRANCH
SYSTEM_PULLREQUEST_SOURCEREPOSITORYURI
SYSTEM_STAGEATTEMPT
SYSTEM_TEAMFOUNDATIONCOLLECTIONURI
SYSTEM_TEAMPROJECT
SYSTEM_TOTALJOBSINPHASE
TAG_NAME
TEAMCITY_BUILDCONF_NAME
TEAMCITY_PROJECT_NAME
TEAMCITY_VERSION
TF_BUILD
TRAVIS
TRAVIS_BRANCH
TRAVIS_BUILD_DIR
TRAVIS_BUILD_WEB_URL
TRAVIS_COMMIT
TRAVIS_COMPILER
TRAVIS_CPU_ARCH
TRAVIS_DART_VERSION
TRAVIS_GO_VERSION
TRAVIS_HAXE_VERSION
TRAVIS_JDK_VERSION
TRAVIS_JOB_NAME
TRAVIS_JOB_WEB_URL
TRAVIS_JULIA_VERSION
TRAVIS_NODE_VERSION
TRAVIS_OS_NAME
TRAVIS_OTP_RELEASE
TRAVIS_PERL_VERSION
TRAVIS_PHP_VERSION
TRAVIS_PULL_REQUEST
TRAVIS_PULL_REQUEST_BRANCH
TRAVIS_PULL_REQUEST_SLUG
TRAVIS_PYTHON_VERSION
TRAVIS_REPO_SLUG
TRAVIS_RUBY_VERSION
TRAVIS_RUST_VERSION
TRAVIS_R_VERSION
TRAVIS_SCALA_VERSION
TRAVIS_TAG
WORKSPACE
"

# On one line, without user and password in addresses.
plain() { printf '%s' "$1" | tr '\000-\037' ' ' | sed 's,\([A-Za-z][A-Za-z0-9+.-]*://\)[^/?#" ]*@,\1,g'; }

ci_line() {
  text=$2
  is_simple "$text" || text=$(plain "$text")
  [ -z "$text" ] || printf '%s=%s\n' "$1" "$text"
}

# Facts of GitHub's event: pull_request.number is EVENT_PULL_REQUEST_NUMBER. One token of the
# JSON a line.
event_lines() {
  [ -f "${GITHUB_EVENT_PATH:-}" ] || return
  LC_ALL=C grep -oE '"([^"\\]|\\.)*"|[][{},:]|[^][{},:"[:space:]]+' "$GITHUB_EVENT_PATH" | NAMES=$ci_names LC_ALL=C awk '
    BEGIN { count = split(ENVIRON["NAMES"], names); for (i = 1; i <= count; i++) known[names[i]] = 1; path[0] = "EVENT" }
    function name(text) { gsub(/[^A-Za-z0-9]/, "_", text); return path[depth - 1] "_" toupper(text) }
    $0 == "{" || $0 == "[" {
      if (depth > 0) path[depth] = name(isList[depth] ? at[depth]++ : key[depth])
      depth++; isList[depth] = $0 == "["; at[depth] = 0; isValue = 0; next
    }
    $0 == "}" || $0 == "]" { depth--; isValue = 0; next }
    $0 == ":" { isValue = 1; next }
    $0 == "," { isValue = 0; next }
    isList[depth] { found = name(at[depth]++); if (found in known) print found "=" $0; next }
    !isValue { key[depth] = substr($0, 2, length($0) - 2); next }
    { found = name(key[depth]); if (found in known && $0 != "null") print found "=" $0; isValue = 0 }'
}

# What CI says: the door decides what it means.
ci_lines() {
  for name in $ci_names; do
    case $name in EVENT_* | HEAD_* | MATRIX) continue ;; esac
    eval "ci_line $name \"\${$name:-}\""
  done
  case ${MATRIX:-} in "{"*) ci_line MATRIX "$MATRIX" ;; esac
  event_lines
  set -- $($git rev-parse --revs-only HEAD "HEAD^{tree}" 2>/dev/null)
  ci_line HEAD_COMMIT "${1:-}"
  ci_line HEAD_TREE "${2:-}"
  ci_line HEAD_ORIGIN "$($git config --get remote.origin.url 2>/dev/null)"
  ci_line HEAD_FOLDER "$head_folder"
}

# In a monorepo, a tool may write the paths of a package. Prints the folder of the checkout that the paths
# of a report begin at: of its first files that decides which does not exist from the top, but from a folder
# above the report.
prefix_of() {
  if [ -n "${TEST_ANALYTICS_PATH_PREFIX:-}" ] || [ -z "$top" ]; then return; fi
  case $1 in */*) above=${1%/*}/ ;; *) above=. ;; esac
  above=$(cd "$above" && pwd -P) || return
  left=20
  dd if="$1" bs=65536 count=1 2>/dev/null | LC_ALL=C grep -oE '[[:space:]]file="[^"&]+"' |
    while IFS= read -r file && [ $left -gt 0 ]; do
    left=$((left - 1))
    file=${file#?file=?}
    file=${file%?}
    case $file in *\\* | .*) file=$(printf '%s' "$file" | sed 's,\\,/,g; s,^\(\./*\)*,,') ;; esac
    case $file in /* | [A-Za-z]:* | ../*) continue ;; esac
    [ ! -e "$top/$file" ] || break
    folder=$above
    while [ "${folder#"$top"/}" != "$folder" ]; do
      if [ -e "$folder/$file" ]; then
        printf '%s\n' "${folder#"$top"/}"
        break 2
      fi
      folder=${folder%/*}
    done
  done
}

# Copies a file into a folder of the archive, below its own path.
pack() {
  path_inside=$1
  case $1 in *//* | /* | .*/* | */../*)
    path_inside=$(printf '%s' "$1" | sed 's,//*,/,g; s,^\(\.*/\)*,,; s,/\.\./,/,g') ;;
  esac
  inside=$work/$2/$path_inside
  number=1
  while [ -e "$inside" ]; do
    # Reached twice, as by two globs.
    cmp -s "$1" "$inside" && return
    number=$((number + 1))
    inside=$work/$2/$number/$path_inside
  done
  folder=${inside%/*}
  { [ -d "$folder" ] || mkdir -p "$folder"; } && cp "$1" "$inside" && count=$((count + 1))
  folder=${folder#"$work"/}
  case $2$prefixes in coverage* | *"
$folder	"*) return ;; esac
  prefix=$(prefix_of "$1")
  [ -z "$prefix" ] || has_prefix=true
  prefixes="$prefixes
$folder	$prefix"
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
  [ -n "$1" ] || return
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
for program in curl tar; do
  command -v "$program" >/dev/null || give_up "$program is not installed"
done
# Tokens are passed on standard input: other users can see arguments.
authorization() { printf 'header = "Authorization: Bearer %s"\n' "$1"; }
token=${UPLOAD_TOKEN:-}
rejected="UPLOAD_TOKEN: create one with \`test-analytics token create --org NAME --upload\`"
if [ -z "$token" ]; then
  token=${TEST_ANALYTICS_ID_TOKEN:-}
  rejected="the identity token of this job"
  if [ -z "$token" ] && [ -n "${ACTIONS_ID_TOKEN_REQUEST_URL:-}" ]; then
    token=$(authorization "${ACTIONS_ID_TOKEN_REQUEST_TOKEN:-}" |
      curl --config - --silent --fail --connect-timeout 10 --max-time 30 --retry 3 --get \
        --data-urlencode "audience=$url" "$ACTIONS_ID_TOKEN_REQUEST_URL" |
      sed -n 's/.*"value" *: *"\([^"]*\)".*/\1/p')
    [ -n "$token" ] || give_up "GitHub issued no identity token"
  fi
fi
[ -n "$token" ] ||
  give_up "UPLOAD_TOKEN (the input token) is empty: create one with \`test-analytics token create --org NAME --upload\`, or give the job an identity token (on GitHub the permission id-token: write); builds of forks have neither"

# In a container the checkout may belong to another user.
git="git -c safe.directory=*"
commit=${TEST_ANALYTICS_COMMIT:-}
tree=${TEST_ANALYTICS_TREE:-}
[ -n "$tree" ] || [ -z "$commit" ] ||
  tree=$($git rev-parse --verify --quiet "$commit^{tree}" 2>/dev/null) || tree=
head_folder=$($git rev-parse --show-toplevel 2>/dev/null)
checkout=${head_folder:-${GITHUB_WORKSPACE:-${CI_PROJECT_DIR:-}}}
top=
[ -z "$checkout" ] || top=$(cd "$checkout" 2>/dev/null && pwd -P)
prefixes=
has_prefix=false

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
# Where the exit code of the tests is not known, it is that of the job.
exit_code=${TEST_ANALYTICS_EXIT_CODE:-}
case $exit_code:${TEST_ANALYTICS_JOB_STATUS:-${CI_JOB_STATUS:-}} in
  :success) exit_code=0 ;;
  :failure | :failed) exit_code=1 ;;
esac
ci_lines >"$work/ci.env"
[ $has_prefix = false ] || printf '%s\n' "$prefixes" >"$work/path-prefixes.txt"
[ -z "${TEST_ANALYTICS_PATH_PREFIX:-}" ] || printf '\t%s\n' "$TEST_ANALYTICS_PATH_PREFIX" >"$work/path-prefixes.txt"
{
  yaml_line version 1.0
  printf 'git:\n'
  yaml_line "  commit" "$commit"
  yaml_line "  tree" "$tree"
  yaml_line "  branch" "${TEST_ANALYTICS_BRANCH:-}"
  yaml_line "  checkout_folder" "$checkout"
  yaml_line "  repository" "${TEST_ANALYTICS_REPOSITORY:-}"
  printf 'ci:\n'
  yaml_line "  build_url" "${TEST_ANALYTICS_BUILD_URL:-}"
  yaml_line "  environment" "${TEST_ANALYTICS_ENVIRONMENT:-}"
  yaml_line "  job" "${TEST_ANALYTICS_JOB:-}"
  yaml_line "  shard" "${TEST_ANALYTICS_SHARD:-}"
  yaml_line "  attempt" "${TEST_ANALYTICS_ATTEMPT:-}"
  yaml_line "  exit_code" "$exit_code"
  yaml_line tags "${TEST_ANALYTICS_TAGS:-}"
} >"$work/buildpulse.yml"
tar -czf "$work.gz" -C "$work" . || give_up "tar failed"

status=$(authorization "$token" |
  curl --config - --silent --show-error --connect-timeout 10 --retry 3 --retry-connrefused \
    --retry-max-time "${TEST_ANALYTICS_TIMEOUT:-120}" --max-time "${TEST_ANALYTICS_TIMEOUT:-120}" --header "Content-Type: application/gzip" \
    --upload-file "$work.gz" --output "$work.out" --write-out '%{http_code}' \
    "$url/upload" 2>"$work/error")
answer=$(cat "$work.out" 2>/dev/null)
case $status in
  202)
    key=$(printf '%s' "$answer" | sed 's/.*"key" *: *"\([^"]*\)".*/\1/' | tr -d '\000-\037')
    case $answer in *'"notes":'*) warn "$(printf '%s' "$answer" | sed 's/.*"notes"://; s/}$//')" ;; esac
    printf '%s\n' "test-analytics: stored (reports: $reports, coverage files: $count): $key"
    [ -z "${GITHUB_OUTPUT:-}" ] || printf '%s\n' "key=$key" >>"$GITHUB_OUTPUT"
    page=$(printf '%s' "$answer" | sed -n 's/.*"web_url" *: *"\(https*:[^"\\]*\)".*/\1/p' | tr -d '\000-\037')
    if [ -n "$page" ]; then
      printf '%s\n' "test-analytics: $page"
      [ -z "${GITHUB_STEP_SUMMARY:-}" ] || printf '\n[All tests of this build](%s)\n' "$page" >>"$GITHUB_STEP_SUMMARY"
    fi
    ;;
  000 | 1??) give_up "$url does not answer: $(tail -n 1 "$work/error")" ;;
  401) give_up "$url does not accept $rejected: $answer" ;;
  413) give_up "the reports are too large for $url: $answer" ;;
  503) give_up "$url cannot store anything now: ${answer:-its storage is full or unavailable}" ;;
  *) give_up "$url answered $status: $answer" ;;
esac
