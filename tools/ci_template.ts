/**
 * `deno run -A tools/ci_template.ts`: writes the names of variables into `deploy/ci/upload.sh`, and
 * `deploy/ci/gitlab.yml`, which contains the script: a template that GitLab includes cannot refer to
 * other files.
 */
import { CI_NAMES } from "../lib/ci/variables.ts";

const FOLDER = new URL("../deploy/ci/", import.meta.url);

/** The template. */
export const TEMPLATE_FILE = new URL("gitlab.yml", FOLDER);

/** The script that the template contains. */
export const SCRIPT_FILE = new URL("upload.sh", FOLDER);

/** The text of the script, with the names of the table of CI services. */
export async function uploadScript(): Promise<string> {
  const script = await Deno.readTextFile(SCRIPT_FILE);
  return script.replace(/^ci_names="\n[^"]*"$/m, () => `ci_names="\n${CI_NAMES.join("\n")}\n"`);
}

/** The text of the template. */
export async function gitlabTemplate(): Promise<string> {
  const script = await uploadScript();
  // In a subshell, so that it neither ends the job nor changes its shell.
  const block = `(\n${script})\n`.replaceAll(/^(?=.)/gm, "      ");
  return `# Uploads test reports to \`test-analytics receive\`. Made from upload.sh, which describes the variables,
# by tools/ci_template.ts. UPLOAD_TOKEN is a masked variable of the group; without it, the job uploads with
# its identity token. One project has it for all others:
#
#   include: { project: acme/ci, ref: v1, file: /test-analytics.yml }
#   test:
#     extends: .test-analytics
#     variables:
#       TEST_ANALYTICS_URL: https://reports.example
#       TEST_ANALYTICS_REPORTS: reports/
#     script:
#       - pytest --junitxml=reports/junit.xml -o junit_family=xunit1
#
# To excuse failures of quarantined tests, run them with the program, PLATFORM_API_URL and
# PLATFORM_API_TOKEN: test-analytics gate reports/ -- pytest --junitxml=reports/junit.xml -o junit_family=xunit1

# Runs even if the tests failed, and never changes the outcome of the job.
.test-analytics:
  id_tokens: &id_tokens
    TEST_ANALYTICS_ID_TOKEN: { aud: $TEST_ANALYTICS_URL }
  after_script:
    - &upload |
${block}
# A job of its own, for TEST_ANALYTICS_STRICT: it needs the reports as artifacts of the tests' job.
.test-analytics-job:
  id_tokens: *id_tokens
  when: always
  script:
    - *upload
`;
}

if (import.meta.main) {
  await Deno.writeTextFile(SCRIPT_FILE, await uploadScript());
  await Deno.writeTextFile(TEMPLATE_FILE, await gitlabTemplate());
}
