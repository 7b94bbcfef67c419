/**
 * A client with a cache: it sends the entity tags of earlier responses, and a 304 stands for the
 * response of its tag.
 */
import { conclusionOfAttempt } from "../../routes/schemas.ts";
import { BADGE_COLORS } from "./response_bodies.ts";
import type { Fleet } from "./fleet.ts";
import { opaqueTag } from "./ledger.ts";
import type { ApiRequest, ApiResponse } from "./requests.ts";
import type { SendOptions } from "./service.ts";

/** Most tags of one request: headers are limited in size. */
const MAX_SENT_TAGS = 50;

/** Sends a request with a token; a 304 becomes the response that it stands for. */
export type Client = (
  apiRequest: ApiRequest,
  options: SendOptions,
  token: string,
) => Promise<ApiResponse>;

/** Creates a client with an empty cache. */
export function createClient(fleet: Fleet): Client {
  /** The received tags by path. */
  const tags = new Map<string, Set<string>>();
  const apiResponses = new Map<string, ApiResponse>();
  let number = 0;

  return async (apiRequest, { path, windowSeconds, through, isConditional }, token) => {
    const headers: Record<string, string> = { authorization: `Bearer ${token}` };
    if (number++ % 2 === 0) headers["accept-encoding"] = "gzip";
    const known = [...tags.get(path) ?? []].slice(-MAX_SENT_TAGS);
    if (isConditional && known.length > 0) headers["if-none-match"] = known.join(", ");
    const response = await fleet.send(through, { path, windowSeconds, headers });
    const text = await textOf(response);
    const etag = response.headers.get("etag");
    if (response.status === 304) {
      const apiResponse = etag !== null && known.includes(etag) &&
        apiResponses.get(opaqueTag(etag));
      if (apiResponse) return apiResponse;
      return { status: 304, json: `${etag} is none of ${known.join(", ") || "no tags"}` };
    }
    const apiResponse = apiRequest.kind.endsWith("badge")
      ? badgeResponse(response.status, text)
      : jsonResponse(response.status, text);
    if (response.status !== 200) return apiResponse;
    if (["attempts", "verdicts"].includes(apiRequest.kind)) removeConclusions(apiResponse);
    if (etag === null) return { status: 200, json: "a response without an entity tag" };
    const tag = opaqueTag(etag);
    const about = ["content-type", "link"].map((name) => response.headers.get(name)).join(" ");
    fleet.ledger.record(tag, `${about} ${text}`, `GET ${path} of server ${through % fleet.size}`);
    apiResponses.set(tag, apiResponse);
    // Unchanged: a 304 repeats the tag as it was sent, weak or strong.
    tags.set(path, (tags.get(path) ?? new Set()).add(etag));
    return apiResponse;
  };
}

/** Decompresses the body of an app that is called without `fetch`. */
async function textOf(response: Response): Promise<string> {
  const isPlain = response.headers.get("content-encoding") === null || response.url !== "";
  if (isPlain || response.body === null) return await response.text();
  return await new Response(response.body.pipeThrough(new DecompressionStream("gzip"))).text();
}

function jsonResponse(status: number, text: string): ApiResponse {
  if (![200, 400, 404].includes(status)) return { status, json: text };
  const json = JSON.parse(text);
  return status === 400 ? { status, errors: Object.keys(json.errors) } : { status, json };
}

const CONCLUSION_FIELDS = [
  ...Object.keys(conclusionOfAttempt),
  ...["share_not_the_change", "base_run_count", "base_failed_count", "evidence_recorded_at"],
];

/** Conclusions depend on the order of uploads, which may be concurrent: `evidence_histories.ts` compares them. */
function removeConclusions(apiResponse: ApiResponse): void {
  const { tests } = (apiResponse as unknown as { json: { tests: Record<string, unknown>[] } }).json;
  for (const test of tests) {
    for (const field of CONCLUSION_FIELDS) delete test[field];
    if (test.verdict === "known" || test.verdict === "new") delete test.verdict;
  }
}

function badgeResponse(status: number, svg: string): ApiResponse {
  if (status !== 200) return jsonResponse(status, svg);
  const percentages = [...svg.matchAll(/>(\d+(?:\.\d+)?%)</g)].map((match) => match[1]!);
  const colors = BADGE_COLORS.filter((color) => svg.includes(`"${color}"`));
  // At most one percentage, and one colour: anything else matches no expected response.
  const isUnknown = percentages.length === 0 && !svg.includes("%") && svg.includes(">unknown<");
  if (colors.length !== 1 || (percentages.length !== 1 && !isUnknown)) {
    return { status, json: svg };
  }
  return { status, badge: { percentage: percentages[0] ?? null, color: colors[0]! } };
}
