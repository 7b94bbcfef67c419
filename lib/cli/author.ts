// Tests: tests/lib/cli/commands/backup_test.ts tests/lib/intake/upload_values_test.ts
import { valueOr } from "../base/error.ts";
import { hostname, userInfo } from "node:os";
import type { Environment } from "../base/config.ts";
import { readBuildUrl } from "../intake/upload_values.ts";
import { type DetectedRun, isCiJob, readCi } from "../ci/mod.ts";
import { oneLine } from "../base/text.ts";

const MAX_URL_CHARACTERS = 500;

/** Who runs the program, for the log of changes: the CI job, otherwise `user@host`. */
export function authorOf(environment: Environment): string {
  const job = isCiJob(environment) ? readCi(environment) : null;
  if (!job) return `${userName()}@${hostname()}`;
  return `${job.title} ${buildUrlOf(job)}`.trim();
}

/** `""` when the CI service has no URL, but a text in its place, as Jenkins before it is configured. */
function buildUrlOf({ buildUrl }: DetectedRun): string {
  return valueOr(() => readBuildUrl(oneLine(buildUrl).slice(0, MAX_URL_CHARACTERS)), "");
}

function userName(): string {
  // A container may run as a user id without a name.
  return valueOr(() => userInfo().username, null) ?? `uid ${Deno.uid()}`;
}
