/**
 * Prints `N passed, N failed` for the JUnit reports of test runs.
 *
 * Arguments: how many other steps of the gate failed, and for each run the path of its report, `=`, and
 * `1` when the test command failed. Each test counts once in a run: a group of tests counts only when it
 * failed by itself, as a hook does. A test command that failed without any failed test counts as one
 * failure.
 */
const [failedSteps = "0", ...runs] = Deno.args;

interface Case {
  name: string;
  failed: boolean;
  skipped: boolean;
}

const TEST_CASE = /<testcase name="([^"]*)"[^>]*?(?:\/>|>(.*?)<\/testcase>)/gs;
const SEPARATOR = " &gt; ";

let passed = 0;
let failed = Number(failedSteps);
for (const run of runs) {
  const end = run.lastIndexOf("=");
  const counts = countRun(readReport(run.slice(0, end)), run.slice(end + 1) !== "0");
  passed += counts.passed;
  failed += counts.failed;
}
Deno.stdout.writeSync(new TextEncoder().encode(`${passed} passed, ${failed} failed\n`));

function countRun(report: string, hasFailed: boolean): { passed: number; failed: number } {
  const cases: Case[] = [];
  for (const [, name = "", body = ""] of report.matchAll(TEST_CASE)) {
    cases.push({ name, failed: body.includes("<failure"), skipped: body.includes("<skipped") });
  }
  const groups = new Set<string>();
  const groupsWithFailures = new Set<string>();
  for (const { name, failed } of cases) {
    for (let end = name.indexOf(SEPARATOR); end !== -1; end = name.indexOf(SEPARATOR, end + 1)) {
      groups.add(name.slice(0, end));
      if (failed) groupsWithFailures.add(name.slice(0, end));
    }
  }
  let passed = 0;
  let failed = 0;
  for (const { name, failed: hasFailed, skipped } of cases) {
    if (hasFailed && !groupsWithFailures.has(name)) failed++;
    else if (!hasFailed && !skipped && !groups.has(name)) passed++;
  }
  return { passed, failed: hasFailed && failed === 0 ? 1 : failed };
}

/** The report, or nothing when the tests did not even begin. */
function readReport(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}
