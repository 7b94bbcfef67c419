/** Checks responses against the OpenAPI document, and their headers. */
import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { Ajv2020 } from "ajv/dist/2020.js";
import { openapiDocument } from "../../tools/documentation/openapi.ts";
import { pathTemplate } from "../../tools/documentation/description.ts";
import type { Route } from "../../lib/http/request/route.ts";
import { routes } from "../../routes/mod.ts";
import { PAGE_OPERATIONS, pageProblems } from "./page_contract.ts";

interface Reference {
  $ref?: string;
}

interface ResponseObject extends Reference {
  content?: Record<string, unknown>;
}

/** A parameter as the document describes it. */
export interface ParameterObject {
  name: string;
  in: "path" | "query";
  required: boolean;
  schema: {
    type: string;
    enum?: string[];
    items?: { enum?: string[] };
    minimum?: number;
    maxLength?: number;
  };
  example?: unknown;
}

/** An operation of the document, with its location. */
export interface Operation {
  /** Such as `/api/tests/{id}/results`. */
  path: string;
  operationId: string;
  parameters: ParameterObject[];
  responses: Record<string, ResponseObject>;
}

interface Document {
  paths: Record<string, { get: Omit<Operation, "path" | "parameters"> & Partial<Operation> }>;
  components: { responses: Record<string, ResponseObject> };
}

/** What a client sees of a response. */
export interface SeenResponse {
  status: number;
  headers: Headers;
  body: Uint8Array;
}

/** What a client sent. */
export interface SentRequest {
  method: string;
  /** Path and query, as they were sent. */
  target: string;
}

const UNKNOWN_PATH = "an unknown path";

/** Headers of the connection, not of the response. */
const FRAMING_HEADERS = ["content-type", "content-length", "connection", "date"];

/** The headers of a response; an empty text stands for one that may be absent. */
function headerPatterns(route: Route | undefined, status: number): Record<string, RegExp> {
  const isBadge = route?.tag === "Badges" && [200, 304].includes(status);
  const tag = /^(W\/)?"[\w-]{22}"$/;
  const patterns: Record<string, RegExp> = {
    "x-request-id": /^[\w.:/+=@~-]{1,128}$/,
    "x-content-type-options": /^nosniff$/,
    "cache-control": isBadge ? /^no-cache$/ : /^private, no-cache$/,
    "vary": /^Authorization, Accept-Encoding$/,
  };
  if (status === 200) {
    patterns.etag = tag;
    patterns["content-encoding"] = /^(gzip)?$/;
    if (route && "after" in route.query.entries) {
      patterns.link = /^(<\?[^<>]+>; rel="next")?$/;
    }
    if (route?.operationId === "getDocs") {
      for (const name of ["content-security-policy", "referrer-policy", "x-frame-options"]) {
        patterns[name] = /./;
      }
    }
  } else if (status === 304) patterns.etag = tag;
  else if (status === 401) {
    const isBasic = route?.access === "token or basic";
    patterns["www-authenticate"] = isBasic
      ? /^Basic realm="Test Analytics Platform", charset="UTF-8"$/
      : /^Bearer$/;
  } else if (status === 405) patterns.allow = /^GET, HEAD$/;
  else if (status === 500) patterns["retry-after"] = /^1?$/;
  return patterns;
}

const NAME = "contract";

/** Checks responses against the document. */
export class Contract {
  readonly operations: readonly Operation[];
  readonly #document = openapiDocument(routes) as unknown as Document;
  readonly #ajv = new Ajv2020({ strict: false, formats: { "date-time": true } });

  constructor() {
    this.#ajv.addSchema(this.#document, NAME);
    this.operations = Object.entries(this.#document.paths).map(([path, { get }]) => ({
      ...get,
      parameters: get.parameters ?? [],
      path,
    }));
  }

  /**
   * Asserts that the document allows the response.
   *
   * @throws {assert.AssertionError} saying what is not allowed
   */
  check(request: SentRequest, response: SeenResponse): void {
    const candidates = this.#candidates(request, response);
    const problems = candidates.map(({ what, pointer, route }) => {
      const found = [
        ...headerProblems(headerPatterns(route, response.status), response.headers),
        ...this.#bodyProblems(this.#resolve(pointer), { request, response }),
      ];
      return found.length === 0 ? null : `${what}: ${found.join("; ")}`;
    });
    if (problems.includes(null)) return;
    const pages = PAGE_OPERATIONS.filter(({ path }) => this.#mayBe(path, request.target));
    // A browser gets a page for an unknown address.
    const mayBePage = pages.length > 0 ||
      [401, 404].includes(response.status) &&
        candidates.some(({ what }) => what === UNKNOWN_PATH) &&
        response.headers.get("content-type")?.startsWith("text/html");
    if (mayBePage) problems.push(...pageProblems(request, response));
    if (mayBePage && problems.length === candidates.length) return;
    const expected = problems.length > 0 ? problems.join("\n") : "no response with this status";
    assert.fail(
      `${request.method} ${JSON.stringify(request.target)} was answered with ${response.status}\n` +
        expected,
    );
  }

  /** The locations of the documented responses for this request and status. */
  #candidates({ method, target }: SentRequest, { status }: SeenResponse) {
    const found: { what: string; pointer: string; route?: Route }[] = [];
    const isRead = method === "GET" || method === "HEAD";
    const operations = this.operationsAt(target);
    for (const { path, operationId, responses } of operations) {
      // The method is checked before the resource in the path.
      if (!isRead && ![401, 405, 500].includes(status) || isRead && status === 405) continue;
      if (!responses[status]) continue;
      const pointer = `/paths/${escapePointer(path)}/get/responses/${status}`;
      const route = routes.find((route) => pathTemplate(route.path) === path);
      found.push({ what: operationId, pointer, route });
    }
    // An unusual spelling of a path may be an unknown path, an undecodable one always is.
    const spellings = spellingsOf(target);
    const isSure = canDecode(pathOf(target)) &&
      operations.some(({ path }) => spellings.every((spelling) => isPathOf(path, spelling)));
    if (!isSure) {
      const name = { 401: "Unauthorized", 404: "NotFound" }[status];
      if (name) found.push({ what: UNKNOWN_PATH, pointer: `/components/responses/${name}` });
    }
    return found;
  }

  /** Operations whose path this can be, in any spelling. */
  operationsAt(target: string): Operation[] {
    const spellings = spellingsOf(target);
    return this.operations.filter(({ path }) =>
      spellings.some((spelling) => isPathOf(path, spelling.replace(/\/+$/, "")))
    );
  }

  #mayBe(path: string, target: string): boolean {
    return spellingsOf(target).some((spelling) => isPathOf(path, spelling));
  }

  #bodyProblems(
    place: string,
    { request, response }: { request: SentRequest; response: SeenResponse },
  ): string[] {
    const { content } = this.#at(place) as ResponseObject;
    const { headers, body } = response;
    const type = headers.get("content-type");
    if (!content) {
      if (type !== null) return [`has the media type ${type}: expected no body`];
      return body.length > 0 ? ["has a body: expected none"] : [];
    }
    const [mediaType = ""] = Object.keys(content);
    if (type !== `${mediaType}; charset=utf-8`) return [`has the media type ${type}`];
    if (request.method === "HEAD") return body.length > 0 ? ["has a body: expected none"] : [];
    const length = headers.get("content-length");
    if (length !== String(body.length)) return [`is ${body.length} bytes and says ${length}`];
    const plain = headers.get("content-encoding") === "gzip" ? gunzipSync(body) : body;
    const text = new TextDecoder("utf-8", { fatal: true }).decode(plain);
    if (!text.endsWith("\n")) return ["has a body that does not end with a newline"];
    const value: unknown = mediaType === "application/json" ? JSON.parse(text) : text;
    return this.#invalid(`${place}/content/${escapePointer(mediaType)}/schema`, value);
  }

  #invalid(pointer: string, value: unknown): string[] {
    const validate = this.#ajv.getSchema(`${NAME}#${encodeURI(pointer)}`);
    assert.ok(validate, `${pointer} is a schema`);
    if (validate(value)) return [];
    return [`${JSON.stringify(value)?.slice(0, 500)}: ${this.#ajv.errorsText(validate.errors)}`];
  }

  /** The pointer itself, or the target of the reference at that place. */
  #resolve(pointer: string): string {
    const { $ref } = this.#at(pointer) as Reference;
    return $ref === undefined ? pointer : $ref.slice(1);
  }

  #at(pointer: string): unknown {
    let value: unknown = this.#document;
    for (const part of pointer.split("/").slice(1)) {
      value = (value as Record<string, unknown>)[part.replaceAll("~1", "/").replaceAll("~0", "~")];
    }
    return value;
  }
}

function headerProblems(patterns: Record<string, RegExp>, headers: Headers): string[] {
  const unknown = [...headers].filter(([name]) =>
    !(name in patterns) && !FRAMING_HEADERS.includes(name)
  );
  const wrong = Object.entries(patterns)
    .map(([name, pattern]) => ({ name, pattern, value: headers.get(name) ?? "" }))
    .filter(({ pattern, value }) => !pattern.test(value));
  return [
    ...unknown.map(([name, value]) => `header ${name}: ${value} is not documented`),
    ...wrong.map(({ name, pattern, value }) => `header ${name}: ${value} is not ${pattern}`),
  ];
}

/** Reads a whole response. */
export async function seen(response: Response): Promise<SeenResponse> {
  const body = new Uint8Array(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, body };
}

/** The path verbatim, and with dots and slashes resolved as in a URL. */
function spellingsOf(target: string): string[] {
  const path = pathOf(target);
  const url = `http://localhost${path}`;
  return URL.canParse(url) ? [path, new URL(url).pathname] : [path];
}

/** Whether a path matches a template. */
function isPathOf(template: string, path: string): boolean {
  return new RegExp(`^${template.replace(/\{\w+\}/g, "[^/]+")}/?$`).test(path);
}

function canDecode(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

function pathOf(target: string): string {
  return target.replace(/[?#].*/s, "");
}

function escapePointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
