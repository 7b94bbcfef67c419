// Tests: tests/lib/intake/pack_upload_test.ts tests/lib/intake/receive/upload_app_test.ts
/** The parameters of an upload: in the address, or as fields of the form. */
import * as v from "valibot";
import { readWith } from "../base/read_with.ts";
import { branchNamed } from "../ci/git_ref.ts";
import { parseRepositoryName } from "../base/repository_name.ts";
import { parseTimestamp } from "../base/time.ts";
import type { ParameterErrors } from "../http/request/errors.ts";
import { readPathPrefix } from "../report/path_prefix.ts";
import type { RunValues } from "./upload_values.ts";
import {
  readExitCode,
  readGitId,
  readGivenBuildUrl,
  readName,
  readRecordedAt,
  readTags,
  readText,
} from "./upload_values.ts";
import { parseValues } from "../http/request/parse_values.ts";

const optional = <T>(read: (text: string) => T) => v.optional(readWith(read));

const schemaAt = (now: number) =>
  v.object({
    repository: optional(parseRepositoryName),
    commit: optional((text) => readGitId(text, "commit")),
    tree: optional((text) => readGitId(text, "tree")),
    branch: optional(readText),
    environment: optional(readName),
    job: optional(readName),
    shard: optional(readName),
    attempt: optional(readName),
    exit_code: optional(readExitCode),
    build_url: optional(readGivenBuildUrl),
    path_prefix: optional(readPathPrefix),
    recorded_at: optional((text) => readRecordedAt(parseTimestamp(text), now)),
    tags: optional((text) => readTags(text.split(","))),
  });

/** Their names. */
export const UPLOAD_PARAMETERS: readonly string[] = Object.keys(schemaAt(0).entries);

/** Parses the parameters of an upload, or returns all their errors. Empty ones count as absent. */
export function readUploadParameters(
  search: URLSearchParams,
  now: number,
): { given: RunValues; errors?: undefined } | { errors: ParameterErrors } {
  const read = parseValues(schemaAt(now), search);
  if (read.errors) return read;
  const { repository: repo, build_url: buildUrl, recorded_at: recordedAt, ...others } = read.values;
  const { exit_code: exitCode, path_prefix: pathPrefix, ...rest } = others;
  return { given: { ...rest, repo, buildUrl, exitCode, pathPrefix, recordedAt } };
}

/** What a value of a parameter says, however it is spelled. */
export function meaningOf(name: string, text: string, now: number): string {
  const value = name === "branch" ? branchNamed(text) : text;
  return JSON.stringify(readUploadParameters(new URLSearchParams([[name, value]]), now));
}
