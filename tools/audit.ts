/**
 * `deno run -A tools/audit.ts [--required]`: checks the packages of both lock files for known vulnerabilities.
 *
 * Exit code 1 for a vulnerability of level high or above, and for any answer of the registry that is
 * not understood. A registry that cannot be reached, or has no audit (404, 405, as some mirrors),
 * prints NOT AUDITED and passes, so that the checks work offline; with `--required` it fails.
 */
import process from "node:process";
import { join } from "node:path";
import { ROOT } from "./packages.ts";

/** Advisories below it are not shown. */
const LEVEL = "high";

/** The messages of `deno audit` when there was no response. */
const UNREACHABLE = /error sending request|dns error|timed out/i;

const TIMEOUT_MS = 60_000;
const REGISTRY = process.env.NPM_CONFIG_REGISTRY || "https://registry.npmjs.org/";

/** @returns the exit code, and why there was no audit if there was none */
async function audit(folder: string): Promise<{ code: number; notAudited?: string }> {
  let result: Deno.CommandOutput;
  try {
    result = await new Deno.Command(Deno.execPath(), {
      args: ["audit", "--level", LEVEL],
      cwd: folder,
      env: { NO_COLOR: "1" },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).output();
  } catch (error) {
    return { code: 1, notAudited: String(error) };
  }
  const { code, stdout, stderr, signal } = result;
  if (signal !== null) return { code: 1, notAudited: `no response within ${TIMEOUT_MS / 1000} s` };
  const [found, problem] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes).trim());
  if (found) process.stdout.write(`${found}\n`);
  if (code === 0 || found) return { code };
  const [reason = ""] = problem!.replace(/^error: /, "").split("\n");
  if (UNREACHABLE.test(reason) || await hasNoAudit()) return { code, notAudited: reason };
  process.stderr.write(`${problem}\n`);
  return { code };
}

/** Whether the registry responds but does not know the request; `deno audit` hides the status. */
async function hasNoAudit(): Promise<boolean> {
  try {
    const url = new URL("-/npm/v1/security/advisories/bulk", REGISTRY.replace(/\/*$/, "/"));
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await response.body?.cancel();
    return response.status === 404 || response.status === 405;
  } catch {
    return false;
  }
}

if (import.meta.main) {
  let exitCode = 0;
  for (const folder of [ROOT, join(ROOT, "tests")]) {
    const { code, notAudited } = await audit(folder);
    if (notAudited !== undefined) {
      process.stderr.write(`NOT AUDITED: ${join(folder, "deno.lock")}: ${notAudited}\n`);
    }
    if (notAudited === undefined || Deno.args.includes("--required")) exitCode ||= code;
  }
  Deno.exit(exitCode);
}
