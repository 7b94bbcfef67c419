/**
 * Prints `N passed, N failed` for the JUnit report of a test run.
 *
 * Arguments: path of the report, `1` when the test command failed, and how many other steps of the
 * gate failed. Each test counts once: a group of tests counts only when it failed by itself, as a
 * hook does. A test command that failed without any failed test counts as one failure.
 */
const [path = "", testsFailed = "0", failedSteps = "0"] = Deno.args;

interface Case {
  name: string;
  failed: boolean;
  skipped: boolean;
}

const testCases = /<testcase name="([^"]*)"[^>]*?(?:\/>|>(.*?)<\/testcase>)/gs;
const cases: Case[] = [];
for (const [, name = "", body = ""] of readReport().matchAll(testCases)) {
  cases.push({ name, failed: body.includes("<failure"), skipped: body.includes("<skipped") });
}
const SEPARATOR = " &gt; ";
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
if (testsFailed !== "0" && failed === 0) failed = 1;
failed += Number(failedSteps);
Deno.stdout.writeSync(new TextEncoder().encode(`${passed} passed, ${failed} failed\n`));

/** The report, or nothing when the tests did not even begin. */
function readReport(): string {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}
