// Tests: tests/lib/cli/commands/upload_to_receiver_test.ts tests/lib/cli/program_test.ts
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { type ArchiveContent, type ArchiveFacts, archivePath } from "../../report/archive/mod.ts";
import { readFileChunks } from "../../report/file_chunks.ts";
import { formatPathPrefixes } from "../../report/path_prefix.ts";
import type { ReportFile } from "../../report/report_files.ts";
import { formatRepositoryName } from "../../base/repository_name.ts";
import { formatTimestamp } from "../../base/time.ts";
import { findCodeowners } from "../codeowners_file.ts";
import { type AddCommand, command } from "../command.ts";
import { location, option, REPORTS } from "../parameters.ts";
import { runGit } from "../../intake/checkout/git.ts";
import { ciLines } from "../../intake/checkout/mod.ts";
import { archiveName, FilesToPack, packArchive } from "../../intake/files_to_pack.ts";
import { readUploadFiles } from "../../intake/read_files.ts";
import { progressListener } from "../output.ts";
import { showBuildPage } from "../build_link.ts";
import { factsOfRun, jobStartOf, requireFiles, RUN_OPTIONS } from "../run_options.ts";
import { openTarget } from "../../storage/inbox.ts";
import { openWorkFolder } from "../../storage/work_folder.ts";
import { STORAGE_VARIABLES } from "../../storage/s3_storage.ts";

/** `upload`: packs reports into an archive, for machines that cannot reach the database. */
export const uploadCommand: AddCommand = command({
  name: "upload",
  summary: "Pack the reports of one CI run into an archive for `watch` and print its location",
  example: "upload --to s3://ci-reports --repo acme/shop reports/",
  moreExamples: ["upload --to https://reports.example reports/"],
  environment: ["UPLOAD_TOKEN", "UPLOAD_TOKEN_FILE", "GITHUB_STEP_SUMMARY", ...STORAGE_VARIABLES],
  usesDatabase: false,
  input: {
    reports: REPORTS,
    to: option(
      "<target>",
      "address of `up` or `receive`, folder, s3://BUCKET/PREFIX, or URL for a PUT",
      location,
    ),
    ...RUN_OPTIONS,
  },
  async run(options, context) {
    requireFiles(options);
    const { environment } = context.io;
    const facts = await factsOfRun(options, context);
    let page = "";
    const target = openTarget(options.to, {
      environment,
      repository: facts.repository,
      onPage: (url) => page = url,
    });
    const listener = progressListener(context);
    // A broken report should fail the job that can fix it, not `watch`.
    const { reports, attempts, coverage, pathPrefix } = options;
    const { checkoutFolder = "", exitCode } = facts;
    let found: readonly ReportFile[] = [];
    const onFound = (reports: readonly ReportFile[]) => void (found = reports);
    const jobStart = await jobStartOf(facts, options, context);
    const read = await readUploadFiles(
      { reports, attempts, coverage, exitCode, pathPrefix, checkoutFolder, jobStart, onFound },
      listener,
    );
    const codeowners = await findCodeowners(options.codeowners, context);
    const content = await archiveContent({
      ...options,
      reports: found,
      facts,
      codeowners: codeowners?.text ?? null,
      ci: await ciLines(environment, context.io.git ?? runGit),
    });
    const work = await openWorkFolder(target.unfinished);
    try {
      const archive = await packArchive(join(work.path, "archive.gz"), content);
      listener.show(`sending ${archive.size} bytes`);
      const location = await target.put(archive, archiveName(facts, archive.digest));
      listener.clear();
      await context.print(location, {
        location,
        repository: formatRepositoryName(facts.repository),
        commit_oid: facts.commitOid,
        build_url: facts.buildUrl,
        recorded_at: formatTimestamp(facts.recordedAt),
        test_result_count: read.results?.content.resultCount ?? 0,
        byte_count: archive.size,
        web_url: page,
      });
      await showBuildPage(page, context);
    } finally {
      await work.close();
    }
  },
});

async function archiveContent(
  { facts, codeowners, ci, reports, coverage, pathPrefix }: {
    facts: ArchiveFacts;
    codeowners: string | null;
    ci: string;
    reports: readonly ReportFile[];
    coverage: string[];
    pathPrefix?: string | undefined;
  },
): Promise<ArchiveContent> {
  const packed = new FilesToPack();
  const prefixes = new Map<string, string>();
  const fileToPack = async (path: string) => (
    { size: (await stat(path)).size, open: () => readFileChunks(path) }
  );
  for (const { path, attempt, pathPrefix: ownPrefix = "" } of reports) {
    // What reads the archive knows the order by these names.
    const name = attempt === undefined
      ? path
      : path.replace(/(?:\.[^./\\]*)?$/, (end) => `.attempt_${attempt}${end}`);
    const inside = archivePath("test-results", name);
    await packed.addReport(inside, await fileToPack(path));
    const folder = pathPrefix === undefined ? inside.replace(/\/[^/]*$/, "") : "";
    if (!prefixes.has(folder)) {
      prefixes.set(folder, ownPrefix);
    }
  }
  for (const path of coverage) {
    packed.add(archivePath("coverage", path), await fileToPack(path));
  }
  const folders = Array.from(prefixes, ([folder, prefix]) => ({ folder, prefix }));
  const isPlain = folders.every(({ prefix }) => prefix === "");
  const pathPrefixes = isPlain ? "" : formatPathPrefixes(folders);
  return { facts, codeowners, ci, pathPrefixes, files: packed.files };
}
