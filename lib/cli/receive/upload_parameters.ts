import * as v from "valibot";
import { quote } from "../../base/quote.ts";
import { readWith } from "../../base/read_with.ts";
import { parseTimestamp } from "../../base/time.ts";
import type { ParameterErrors } from "../../http/request/errors.ts";
import { readParameters } from "../../http/request/parameters.ts";
import type { RunValues } from "../intake/run_options.ts";
import {
  isObjectId,
  readBuildUrl,
  readRecordedAt,
  readTags,
  readText,
  readTree,
} from "../intake/upload_values.ts";

/** Parses the parameters of an upload, or returns all their errors. Empty ones count as absent. */
export function readUploadParameters(
  search: URLSearchParams,
  now: number,
): { given: RunValues; errors?: undefined } | { errors: ParameterErrors } {
  const schema = v.object({
    commit: optional(readCommit),
    tree: optional(readTree),
    branch: optional(readText),
    build_url: optional(readBuildUrl),
    recorded_at: optional((text) => readRecordedAt(parseTimestamp(text), now)),
    tags: optional((text) => readTags(text.split(","))),
  });
  const raw = Object.fromEntries(
    Object.keys(schema.entries).map((name) => [name, search.get(name)?.trim() || undefined]),
  );
  const { value, errors } = readParameters(raw, schema);
  if (errors) return { errors };
  const { build_url: buildUrl, recorded_at: recordedAt, ...rest } = value as v.InferOutput<
    typeof schema
  >;
  return { given: { ...rest, buildUrl, recordedAt } };
}

function optional<T>(read: (text: string) => T) {
  return v.optional(readWith(read));
}

/** Rejects names such as `HEAD`: there is no checkout to resolve them in. */
function readCommit(text: string): string {
  if (isObjectId(text)) return text.toLowerCase();
  throw new SyntaxError(`invalid commit ${quote(text)}: expected 7 to 64 hex digits`);
}
