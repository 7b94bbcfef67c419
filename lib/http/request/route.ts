/** What a row of the route table says, and what a handler gets and gives. */
import type * as v from "valibot";
import type { Caller, RepositoryVersion, Selection } from "../../../db/read/caller.ts";
import type { AtHand } from "../../base/at_hand.ts";
import type { Context } from "./context.ts";
import type { TestList } from "./test_collection.ts";

/**
 * Who may call: anybody; whoever has a token; or whoever has a token, which a browser may also send
 * as the password of HTTP Basic.
 */
export type Access = "public" | "token" | "token or basic";

/** The groups in which documents show the routes, and what each is about. */
export const TAGS = {
  Repositories: "What one repository, named by owner and name, uploaded and which tests are flaky.",
  Tests: "The inventory of flaky tests across repositories, and the history of one test.",
  Badges: "SVG pictures of a percentage, for a README or a dashboard.",
  Service: "Whether the service answers, whether a token is valid, and what describes the API.",
} as const;

/** Name of a group of routes. */
export type Tag = keyof typeof TAGS;

/** Parameters as they arrive: the first value of each, absent ones `undefined`. */
export type RawParameters = Readonly<Record<string, string | undefined>>;

type Entries = Record<string, v.GenericSchema<string | undefined, unknown>>;

/** Schema of the parameters of a route, by name; each turns text into a value. */
export type ParametersSchema = v.ObjectSchema<Entries, undefined>;

/** What a list wants of its tests beside what every list shows. */
export interface LoadTestsOptions {
  /** Whether `timeConsumed` is wanted, which takes longer to load. */
  withTime?: boolean;
}

/** A request that was let in, found its resource, and has only right parameters. */
export interface ApiRequest<Query = unknown> {
  /** `null` on public routes only. */
  caller: Caller | null;
  /** What the route's `resource` names, ordered by id. */
  repositories: RepositoryVersion[];
  query: Query;
  /** First second of the window, since 1970. */
  windowStart: number;
  /** Tests of the repositories that are disruptive in the window or quarantined. */
  loadTests(options?: LoadTestsOptions): AtHand<TestList>;
}

/** What a handler answers: a page of a list says where the next one begins. */
export interface Answer {
  /** `null`: there is nothing to say, status 204. */
  body: string | null;
  /** Cursor of the next page, `null` or absent when there is none. */
  nextCursor?: string | null;
  /** Headers of this answer beside those that every answer has. */
  headers?: Readonly<Record<string, string>>;
}

/** What a successful answer is. */
export interface ResponseDescription {
  status: 200 | 204;
  description: string;
  /** Absent when there is no body. */
  mediaType?: string;
  /** Schema of a JSON body. */
  schema?: v.GenericSchema;
  /** A body as documents show it: the value of a JSON body, else its text. Absent without a body. */
  example?: unknown;
  /** Query parameters of the request that `example` answers, beside the required ones. */
  exampleQuery?: Readonly<Record<string, string>>;
  /** `private, no-cache` unless given. */
  cacheControl?: string;
  /** What the headers mean that this answer has beside those that every answer has. */
  headers?: Readonly<Record<string, string>>;
}

/** Where a request names what it is about. */
export type Resource =
  /** In the path, of which the decoded parts are given: no such thing is a 404 at once. */
  | { in: "path"; select(path: RawParameters): Selection }
  /** In `repository` or `repository_id`, else all of them: no such thing is a 404 at last. */
  | { in: "query"; required: boolean };

/** One row of the route table. */
export interface Route<Query = unknown> {
  method: "GET";
  /** With `:name` for a part that varies. */
  path: string;
  access: Access;
  /** Name of the operation in generated clients: it never changes. */
  operationId: string;
  tag: Tag;
  summary: string;
  description: string;
  parameters: { path: ParametersSchema; query: ParametersSchema };
  response: ResponseDescription;
  /** Absent when the answer depends on no data. */
  resource?: Resource;
  handler(request: ApiRequest<Query>, context: Context): AtHand<Answer>;
}

/** Declares a route; the handler's `query` has the type that the schema gives. */
export function defineRoute<Query extends ParametersSchema>(
  route: Omit<Route<v.InferOutput<Query>>, "parameters"> & {
    parameters: { path: ParametersSchema; query: Query };
  },
): Route {
  // Sound, because only what this very schema made is handed to this handler.
  return route as Route;
}

/** The repository or test that a path names; the request is only handled when there is one. */
export function selectedRepository(request: ApiRequest): RepositoryVersion {
  const [repository] = request.repositories;
  if (!repository) throw new Error("a route without a repository asked for it");
  return repository;
}
