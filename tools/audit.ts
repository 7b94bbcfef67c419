/**
 * Asks the package registry for known holes in what the lock file names: `deno task audit`.
 *
 * A registry that cannot be reached is no hole: it is said plainly, and the exit code is 0, so that
 * the gate works without a network. With `--required` it is 1, for where a release is made.
 */
import process from "node:process";

/** Advisories below it are shown by `deno audit` and stop nothing. */
const LEVEL = "high";

/** What the runtime says when the question did not get through or was not understood. */
const UNREACHABLE = /error sending request|registry|dns error|timed out|\b40[345]\b|\b5\d\d\b/i;

if (import.meta.main) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["audit", "--level", LEVEL],
    env: { NO_COLOR: "1" },
  }).output();
  const told = new TextDecoder().decode(stdout).trim();
  const wrong = new TextDecoder().decode(stderr).trim();
  const isRequired = Deno.args.includes("--required");
  // What was found goes to standard output; only a failure of the question itself goes to the other.
  if (code !== 0 && told === "" && UNREACHABLE.test(wrong)) {
    process.stderr.write(
      `dependencies were not audited: ${wrong.split("\n")[0]}\n` +
        (isRequired ? "" : "this is no failure here; a release is not made without it\n"),
    );
    Deno.exit(isRequired ? 1 : 0);
  }
  process.stdout.write(`${told}\n`);
  process.stderr.write(wrong === "" ? "" : `${wrong}\n`);
  Deno.exit(code);
}
