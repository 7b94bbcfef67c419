// Tests: tests/lib/http/request/parsed_url_test.ts tests/lib/http/request/responses_test.ts
/** Routes: rows of the route table, and the input and output of their handlers. */
import * as v from "valibot";
import type { Database } from "../../../db/connection/connect.ts";
import type { Caller, CallerScope } from "../../../db/read/caller.ts";
import type { TimeZone } from "../../base/time_zone.ts";
import type { Page } from "../../html/layout.ts";
import type { PathTo } from "../../html/markup.ts";
import type { Context } from "./context.ts";
import { columnsOf, type ListColumn } from "./list_format.ts";
import type { ParameterErrors } from "./errors.ts";
import { JSON_MEDIA_TYPE, jsonBody } from "./json_body.ts";
import {
  type Entries,
  organizationId,
  type ParametersSchema,
  type RawParameters,
} from "./parameters.ts";
import type { TestCollection } from "../test_cache/collection.ts";
import type { LoadTestsOptions } from "../test_cache/cache.ts";
import type { Load, Moment } from "./queries.ts";

/**
 * Who may call: `token or basic` also accepts the token as the password of HTTP Basic, `token or badge
 * token` a badge token as the query parameter `token`.
 */
export type Access = "public" | "token" | "token or basic" | "token or badge token";

/** The group of a route in the documentation. */
export type Tag = "Account" | "Repositories" | "Tests" | "Badges" | "Service";

/** A request that passed all checks, with its caller and the repositories of its resource. */
export interface ApiRequest<Query = unknown> extends CallerScope, Moment {
  query: Query;
  /** The query parameters that the route knows, as they were sent. */
  parameters: RawParameters;
  /** Leads from this path to the root of the service: `""`, `../` and so on. */
  root: string;
  /** The day of the request, in days since 1970. */
  today: number;
  /** Whether a page is for a person who is signed in by a cookie, and can sign out. */
  hasSession: boolean;
  /** A person who may act, on a service that can write. */
  editor: Editor | null;
  zone: TimeZone;
  /** Runs a query in the snapshot of the request. */
  load: Load;
  /** Tests of the repositories that are disruptive in the window or quarantined, as of the snapshot. */
  loadTests(options?: LoadTestsOptions): Promise<TestCollection>;
}

export interface HandlerResult {
  /** `""` for status 204 and a redirect. */
  body: string;
  /** The address that the client is sent to instead, relative to this one. */
  redirect?: string;
  /** Cursor of the next page, `null` or absent when there is none. */
  nextCursor?: string | null;
  /** Headers that not every response has. */
  headers?: Readonly<Record<string, string>>;
  /** Whether it is a page that shows what is wrong with its form: status 400, and not cached. */
  isWrong?: boolean;
}

export interface ResponseDescription {
  status: 200 | 204;
  /** Absent when there is no body. */
  mediaType?: string;
  schema?: v.GenericSchema;
  /** A body for the documentation: the value of a JSON body, otherwise its text. */
  example?: unknown;
  /** Query parameters of the request for `example`, in addition to the required ones. */
  exampleQuery?: Readonly<Record<string, string>>;
  /** `private, no-cache` unless given. */
  cacheControl?: string;
}

/**
 * The resource of a request. `organization`: the organization of the token. An unknown one in the path is a 404
 * before parameters are checked, in `repository` or `repository_id` a 404 after all are checked. Without
 * both, `repositories in query` selects all repositories of the organization. `repositories by name in
 * path`: all with this name, of any owner. `owner`: all, with the owner of tests in the path as a parameter.
 */
export type Resource =
  | "organization"
  | "repository in path"
  | "submission in path"
  | "test in path"
  | "repositories by name in path"
  | "repository in query"
  | "repositories in query"
  | "owner";

/** The other end of a request with a valid token. */
interface Client {
  /** IP address of the connection. */
  peer: string;
  requestId: string;
  /** Whose token the request has. */
  caller: Caller;
}

/** A person who is signed in and may act. */
export interface Editor {
  name: string;
  /** Issuer and subject of the account. */
  person: string;
  /** What forms send along. */
  formToken: string;
}

/** What a person who may act requests: a form that was sent, or a page that depends on the person. */
export interface Action extends Moment {
  editor: Editor;
  caller: Caller;
  /** `null` for a page. */
  form: URLSearchParams | null;
  test: { idPrefix: number; testHash: number } | null;
  pathTo: PathTo;
  zone: TimeZone;
}

/** The page to show, with status 400 if the form is wrong; or where to go next, relative to this address. */
export type ActionResult = { page: Page; isWrong?: boolean } | { redirect: string };

/** Runs `handle` with the request and a snapshot of its own. */
export type ReadBatch<Query = unknown> = <T>(
  handle: (request: ApiRequest<Query>) => Promise<T>,
) => Promise<T>;

/** How the whole list of an endpoint is read, for `.csv` and `.ndjson`. */
export interface ListSource<Query = unknown> {
  columns(query: Query): ListColumn[];
  /** The items of the list that match a request's filters. One batch is in memory at a time. */
  batches(read: ReadBatch<Query>, context: Context): AsyncIterable<readonly unknown[]>;
}

export interface Endpoint<Query = unknown> {
  /** With `:name` for a variable part, `:name+` for the rest of the path. */
  path: string;
  access: Access;
  /** For people: errors are pages too, and it may say how many days ago something was. */
  isPage?: boolean;
  /** What the response depends on beyond the edge of the window: it is not cached longer. */
  dependsOn?: "second" | "day";
  query: ParametersSchema;
  response: ResponseDescription;
  /** Absent when the response depends on no data. */
  resource?: Resource;
  /** Of a handler that loads nothing else: the tests it loads. If they are cached, it needs no snapshot. */
  tests?(query: Query): LoadTestsOptions;
  handler(request: ApiRequest<Query>, context: Context): Promise<HandlerResult> | HandlerResult;
  /** GET and HEAD unless given. */
  methods?: readonly string[];
  /** Answers the request itself, in place of the handler: it may have a body, and is never cached. */
  respond?(request: Request, client: Client): Promise<Response>;
  /** What people who are signed in do here, in place of the handler. The response is never cached. */
  act?(action: Action, sql: Database["sql"]): Promise<ActionResult>;
  /** Whether the page has forms for people who may act: it is cached for each session. */
  hasForms?: boolean;
  /** Absent when the response is not a list. */
  list?: ListSource<Query>;
  /** The page for wrong parameters, where it is more than their messages: a form that keeps its values. */
  errorPage?(errors: ParameterErrors, request: Pick<ApiRequest, "parameters" | "root">): Page;
}

/** One row of the route table. With a `resource` it takes `organization_id`. */
export interface Route<Query = unknown> extends Endpoint<Query> {
  /** Name of the operation in generated clients; never changes. */
  operationId: string;
  tag: Tag;
  summary: string;
  description: string;
}

export type QueryOf<Query extends Entries> = v.InferOutput<v.ObjectSchema<Query, undefined>>;

/** A route as it is declared: by default with a token and without query parameters. */
type RouteDeclaration<Query extends Entries> =
  & Omit<Route<QueryOf<Query>>, "access" | "query">
  & { access?: Access; query?: Query };

/** Declares a route. */
export function defineRoute<Query extends Entries>(
  { access = "token", query, ...route }: RouteDeclaration<Query>,
): Route {
  const schema = v.object({ ...query, ...route.resource && { organization_id: organizationId } });
  // Sound: the handler only receives what this schema produced.
  return { ...route, access, query: schema } as Route;
}

/** Declares an endpoint that answers requests itself. It is not a resource of the API. */
export function defineEndpoint(
  endpoint: Required<Pick<Endpoint, "path" | "methods" | "respond">>,
): Endpoint {
  return {
    ...endpoint,
    access: "token",
    query: v.object({}),
    response: { status: 200, mediaType: JSON_MEDIA_TYPE },
    handler: () => ({ body: "" }),
  };
}

/** Items of a list that are read at a time. Most take less than 1 kB. */
const BATCH_ITEMS = 1_000;

const AS_FILE = "Also whole, as `.csv` or `.ndjson`.";

/** The list in a response of JSON. */
interface ListDeclaration<Query> {
  /** The field of the response that has the items. */
  field: string;
  /** Items that are read at a time: {@linkcode BATCH_ITEMS} unless given. */
  batch?: number;
  /** The fields that items have, where `include` decides it. */
  hasField?(query: Query, field: string): boolean;
}

/** Declares a route whose handler returns the JSON value that the schema describes. */
export function defineJsonRoute<
  Query extends Entries,
  Schema extends v.GenericSchema<unknown, object>,
>(
  { schema, exampleQuery, handler, list, ...route }:
    & Omit<RouteDeclaration<Query>, "response" | "handler" | "list">
    & Pick<ResponseDescription, "exampleQuery">
    & {
      schema: Schema;
      list?: ListDeclaration<QueryOf<Query>>;
      handler(
        request: ApiRequest<QueryOf<Query>>,
        context: Context,
      ): Promise<v.InferOutput<Schema>> | v.InferOutput<Schema>;
    },
): Route {
  return defineRoute<Query>({
    ...route,
    description: route.description + (list ? ` ${AS_FILE}` : ""),
    ...list && { list: listSource(list, { ...route, schema, handler }) },
    response: { status: 200, mediaType: JSON_MEDIA_TYPE, schema, exampleQuery },
    async handler(request, context) {
      const value: { metadata?: { after: string | null } } = await handler(request, context);
      return { body: jsonBody(value), nextCursor: value.metadata?.after ?? null };
    },
  });
}

/** Reads the whole list of a route of JSON: its pages one after the other, as a client would. */
function listSource<Query>(
  { field, batch = BATCH_ITEMS, hasField }: ListDeclaration<Query>,
  { schema, handler, query: parameters, tests }: {
    schema: v.GenericSchema;
    handler(request: ApiRequest<Query>, context: Context): Promise<object> | object;
    query?: Entries;
    tests?(query: Query): LoadTestsOptions;
  },
): ListSource<Query> {
  // Sound: the schema of a response is an object, and the field a list in it.
  const { entries } = schema as unknown as { entries: Record<string, { item: v.GenericSchema }> };
  return {
    columns: (query) =>
      columnsOf(entries[field]!.item, hasField && ((name) => hasField(query, name))),
    async *batches(read, context) {
      let first: ApiRequest<Query> | undefined;
      let cursor: string | null = null;
      do {
        const after: unknown = parameters?.after && v.parse(parameters.after, cursor ?? undefined);
        const handlePage = (request: ApiRequest<Query>) =>
          handler({ ...request, query: { ...request.query, limit: batch, after } }, context);
        const page = first ? await handlePage(first) : await read(async (request) => {
          if (!tests) return await handlePage(request);
          // All pages are of the same tests, and need no other snapshot.
          const loaded = await request.loadTests(tests(request.query));
          first = { ...request, loadTests: () => Promise.resolve(loaded) };
          return await handlePage(first);
        });
        const { metadata, [field]: items } = page as
          & { metadata?: { after: string | null } }
          & Record<string, readonly unknown[]>;
        yield items!;
        cursor = metadata?.after ?? null;
      } while (cursor !== null);
    },
  };
}
