// Tests: tests/lib/cli/transcripts_test.ts
import { join } from "node:path";
import { ARCHIVE_LIMITS } from "../report/limits.ts";
import type { CommandContext } from "./command.ts";
import { Failure } from "../base/failure.ts";
import { runGit } from "../intake/checkout/git.ts";
import { isCiJob } from "../ci/mod.ts";
import { quote } from "../base/quote.ts";
import { cannotRead, type OwnersFile } from "../intake/read_files.ts";

/** Where GitHub and GitLab look for the file. */
const PATHS = [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"];

/** The given CODEOWNERS file; without one, in a CI job, the checkout's; `null` when there is none. */
export async function findCodeowners(
  given: string | undefined,
  context: CommandContext,
): Promise<OwnersFile | null> {
  const git = context.io.git ?? runGit;
  const isCi = isCiJob(context.io.environment);
  if (given === undefined && !isCi) return null;
  const root = await git(["rev-parse", "--show-toplevel"]);
  if (given !== undefined) return { text: await readBounded(given), root };
  for (const candidate of root === "" ? [] : PATHS) {
    const path = join(root, candidate);
    const info = await Deno.stat(path).catch(() => null);
    if (info?.isFile) return { text: await readBounded(path), root };
  }
  return null;
}

async function readBounded(path: string): Promise<string> {
  const bytes = await Deno.readFile(path).catch((error) => {
    throw cannotRead(error, { what: "file", path, hint: "check --codeowners" });
  });
  const { codeownersBytes } = ARCHIVE_LIMITS;
  if (bytes.length <= codeownersBytes) return new TextDecoder().decode(bytes);
  throw new Failure(
    `${quote(path)}: found ${bytes.length} bytes, expected at most ${codeownersBytes}`,
  );
}
