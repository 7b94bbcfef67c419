/** `POST /quarantine/OWNER/NAME` and `DELETE /quarantine/OWNER/NAME/TEST-ID`. */
import * as v from "valibot";
import {
  addQuarantineByToken,
  type LockedTest,
  lockTest,
  removeQuarantineByToken,
} from "../../../db/admin/quarantine_by_token.ts";
import type { Database } from "../../../db/connection/connect.ts";
import type { Uploader } from "../../../db/read/caller.ts";
import { newEntry } from "../../analysis/quarantine.ts";
import { quarantineRecord } from "../../analysis/quarantine_json.ts";
import { formatRepositoryName, type RepositoryName } from "../../base/repository_name.ts";
import { caseKey } from "../../base/identity.ts";
import { quote } from "../../base/quote.ts";
import { readWith } from "../../base/read_with.ts";
import { expiry, lineOfText, testIdentifier } from "../../base/value_schemas.ts";
import {
  badRequest,
  jsonResponse,
  notFound,
  type ParameterErrors,
} from "../../http/request/errors.ts";
import { contradictions, parseValues } from "../../http/request/parse_values.ts";
import { readEnvironments } from "../upload_values.ts";
import { type BodyLimits, receiveText } from "./receive_body.ts";

/** Parameters of a form are a few lines of text. */
const MAX_FORM_BYTES = 16_384;

const text = v.optional(lineOfText);
const ADDITION = v.object({
  test: v.pipe(v.optional(v.string(), ""), testIdentifier),
  by: text,
  reason: text,
  owner: text,
  expires: v.optional(expiry),
  environment: v.optional(readWith(readEnvironments)),
});
const REMOVAL = v.object({ by: text, reason: text });

interface QuarantineRequest {
  request: Request;
  /** What follows the repository in the path: a test id, or nothing. */
  rest: string | null;
  search: URLSearchParams;
  repo: RepositoryName;
  caller: Uploader;
  /** Hash of the token. */
  hash: string;
  now: number;
}

/**
 * Adds (POST), changes, or removes (DELETE, of a test in the path) the entry of a test, with the rules of
 * `quarantine add` and `remove`.
 */
export async function changeQuarantine(
  { sql, limits }: { sql: Database["sql"]; limits: BodyLimits },
  given: QuarantineRequest,
): Promise<Response> {
  const { request, rest, caller, hash, now } = given;
  const isRemoval = rest !== null;
  if (!isForm(request)) return badRequest({ body: [EXPECTED_FORM] });
  const { parameters, errors } = await readParameters(given, limits);
  const origin = {
    author: `token ${caller.tokenId}${caller.label === null ? "" : ` (${caller.label})`}`,
    command: `quarantine ${isRemoval ? "remove" : "add"}`,
  };
  const change = async (
    id: { idPrefix: number; testHash: number },
    apply: (tx: Parameters<typeof lockTest>[0], test: LockedTest) => Promise<Response>,
  ) =>
    // Without the check of `writeTransaction`: the role of `receive` may read no table.
    await sql.begin(async (tx) => {
      const test = await lockTest(tx, { hash, now, ...id });
      if (!test || nameKey(test.repository) !== nameKey(given.repo)) {
        return notFound(
          `no such test in ${
            quote(formatRepositoryName(given.repo))
          }: expected its id as on its page`,
        );
      }
      return await apply(tx, test);
    }) as Response;

  if (isRemoval) {
    const id = v.safeParse(testIdentifier, rest);
    if (!id.success) return notFound();
    const read = parseValues(REMOVAL, parameters);
    if (read.errors || errors) return badRequest({ ...read.errors, ...errors });
    const { by = null, reason = null } = read.values;
    return await change(id.output, async (tx, test) => {
      const removal = { removedAt: now, removedBy: by, reason };
      const access = { hash, now, ...id.output };
      const removed = await removeQuarantineByToken(tx, access, { test, removal, origin });
      return changed(removed ? "removed" : "unchanged", quarantineRecord(test, null));
    });
  }

  const read = parseValues(ADDITION, parameters);
  if (read.errors || errors) return badRequest({ ...read.errors, ...errors });
  const { test: id, ...values } = read.values;
  const made = newEntry(values, now);
  if ("wrongEnd" in made) return badRequest({ expires: [made.wrongEnd] });
  const { entry } = made;
  return await change(id, async (tx, test) => {
    const result = await addQuarantineByToken(tx, { hash, now, ...id }, { test, entry, origin });
    return changed(result.outcome, quarantineRecord(test, result.quarantine));
  });
}

/** `outcome`: `added`, `changed`, `removed` or `unchanged`; then the test and its entry. */
function changed(outcome: string, record: ReturnType<typeof quarantineRecord>): Response {
  return jsonResponse(200, { outcome, ...record });
}

function nameKey(repository: RepositoryName): string {
  return caseKey(formatRepositoryName(repository));
}

const EXPECTED_FORM =
  "expected a form (application/x-www-form-urlencoded), as -d and --data-urlencode of curl send it";

/** Whether the body can be a form: a client may leave out its type. */
function isForm(request: Request): boolean {
  const [type = ""] = (request.headers.get("content-type") ?? "").split(";");
  return ["", "application/x-www-form-urlencoded"].includes(type.trim().toLowerCase());
}

/** The parameters of the address and, for curl's `-d`, of a form; and the errors of those that contradict each other. */
async function readParameters(
  { request, rest, search }: QuarantineRequest,
  limits: BodyLimits,
): Promise<{ parameters: URLSearchParams; errors: ParameterErrors | null }> {
  const form = await receiveText(request, {
    ...limits,
    maxBytes: MAX_FORM_BYTES,
    advice: "expected a shorter reason",
  });
  const fields = new URLSearchParams(form);
  const errors = contradictions(Object.keys((rest === null ? ADDITION : REMOVAL).entries), {
    address: search,
    fields,
    meaning: (name, text) => name === "test" ? text.toLowerCase() : text,
  });
  return { parameters: new URLSearchParams([...search, ...fields]), errors };
}
