// Tests: tests/lib/cli/commands/comment_test.ts tests/lib/cli/commands/gate_test.ts
/** The link to the page of a build, with which `upload`, `gate` and `comment` end. */
import { appendFile } from "node:fs/promises";
import { pagesUrlOf } from "../api_client/api_settings.ts";
import { setting } from "../base/config.ts";
import { errorMessage } from "../base/error.ts";
import { buildPage, formatRepositoryName, type RepositoryName } from "../base/repository_name.ts";
import { markdownLink } from "../base/text.ts";
import type { CommandContext } from "./command.ts";

/** The page of a run that the service knows, or will know; `""` without a repository or build URL. */
export function buildPageOf(
  { repository, buildUrl }: { repository: RepositoryName | null; buildUrl: string },
  { io }: Pick<CommandContext, "io">,
): string {
  if (repository === null) return "";
  return buildPage(pagesUrlOf(io.environment), formatRepositoryName(repository), { buildUrl });
}

/** Shows the page of a build to people, in the summary of a job on GitHub as well. */
export async function showBuildPage(
  page: string,
  { io, note }: Pick<CommandContext, "io" | "note">,
  { summary = setting(io.environment, "GITHUB_STEP_SUMMARY") }: { summary?: string | undefined } =
    {},
): Promise<void> {
  if (page === "") return;
  note(`build: ${page}`);
  if (summary === "") return;
  await appendFile(summary, `\n${markdownLink("All tests of this build", page)}\n`).catch((error) =>
    note(`GITHUB_STEP_SUMMARY: ${errorMessage(error)}`)
  );
}
