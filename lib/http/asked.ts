/**
 * What a request asks for, as far as its URL alone tells: the same for everybody and at any time, so
 * it is worked out once for all requests with that URL.
 */
import type { Selection } from "../../db/caller.ts";
import { Cache } from "../cache.ts";
import type { ParameterErrors } from "./errors.ts";
import { makeEtag } from "./etag.ts";
import { rawParameters, readParameters } from "./parameters.ts";
import { selectByParameters } from "./repositories.ts";
import type { Access, RawParameters, Route } from "./route.ts";
import { createRouter, type RouteMatch, splitUrl } from "./router.ts";

/** What is kept of URLs, in characters: some thousand of them. */
const MAX_CACHED_CHARACTERS = 2_000_000;

// Longer ones are seldom asked for twice.
const MAX_CACHED_URL_CHARACTERS = 2_000;

// What the engine adds to an entry, in characters.
const ENTRY_OVERHEAD = 500;

// As a key, as parameters, as what they mean, and in what the entity tag is made from.
const COPIES_OF_URL = 4;

/** Opened in a browser, where only Basic lets a person give a token. */
const DOCUMENT_PATHS = /^\/(openapi\.yaml|docs|llms-full\.txt)\/?$/;

/** What a URL asks for. */
export interface Asked {
  /** `null` for an unknown path. */
  route: Route | null;
  access: Access;
  /** Parameters that the route knows, as they came. */
  raw: RawParameters;
  /** What is wrong with them by themselves; none when `query` can be handed to the handler. */
  errors: ParameterErrors;
  query: unknown;
  /** What is looked up together with the token. */
  selection: Selection;
  /** Tells one selection from another. */
  selectionKey: string;
  /** The entity tag of its answer while everything else that it depends on is the same. */
  etag(dependencies: unknown): string;
}

/** Makes a reader of URLs for a route table. */
export function createUrlReader(routes: readonly Route[]): (url: string) => Promise<Asked> {
  const findRoute = createRouter(routes);
  const cache = new Cache<Asked>({
    maxWeight: MAX_CACHED_CHARACTERS,
    weigh: (_, url) => ENTRY_OVERHEAD + COPIES_OF_URL * url.length,
  });

  const read = async (path: string, search: string): Promise<Asked> => {
    const match = await findRoute(path);
    const schema = match?.route.parameters.query;
    const raw = schema ? rawParameters(new URLSearchParams(search), schema) : {};
    const { value: query, errors = {} } = schema
      ? readParameters(raw, schema)
      : { value: undefined };
    const selection = selectionOf(match, raw);
    return {
      route: match?.route ?? null,
      access: match?.route.access ?? (DOCUMENT_PATHS.test(path) ? "token or basic" : "token"),
      raw,
      errors,
      query,
      selection,
      selectionKey: JSON.stringify(selection),
      etag: etagMaker(match?.route.path, raw),
    };
  };

  return async (url) => {
    const { path, search } = splitUrl(url);
    if (path.length + search.length > MAX_CACHED_URL_CHARACTERS) return await read(path, search);
    return await cache.get(path + search, () => read(path, search));
  };
}

function selectionOf(match: RouteMatch | null, raw: RawParameters): Selection {
  const resource = match?.route.resource;
  if (resource?.in === "path") return resource.select(match?.parameters ?? {});
  if (resource?.in === "query") return selectByParameters(raw, resource);
  return { kind: "none" };
}

/** Makes tags of a URL's answers; a digest is made again only when something changed. */
function etagMaker(path: string | undefined, raw: RawParameters): (values: unknown) => string {
  const own = JSON.stringify([path, Object.entries(raw)]);
  let last = { dependencies: "", etag: "" };
  return (values) => {
    const dependencies = JSON.stringify(values);
    if (last.dependencies === dependencies) return last.etag;
    const etag = makeEtag([own, dependencies]);
    // Of many repositories they are long, and would be kept for each URL.
    if (dependencies.length <= ENTRY_OVERHEAD / 2) last = { dependencies, etag };
    return etag;
  };
}
