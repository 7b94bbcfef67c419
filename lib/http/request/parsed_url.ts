/**
 * What a request asks for, as far as its URL alone tells: the same for everybody and at any time, so
 * it is worked out once for all requests with that URL.
 */
import type { Selection } from "../../../db/read/caller.ts";
import { type AtHand, use } from "../../base/at_hand.ts";
import { Cache } from "../../base/cache.ts";
import type { ParameterErrors } from "./errors.ts";
import { makeEtag } from "./etag.ts";
import { rawParameters, readParameters } from "./parameters.ts";
import { selectByParameters } from "./repositories.ts";
import type { Access, RawParameters, Route } from "./route.ts";
import { createRouter, type RouteMatch, splitUrl } from "./router.ts";

/** What is kept of URLs, in characters: some thousand of them. */
const MAX_CACHED_CHARACTERS = 2_000_000;

// Of that, for what their paths ask for.
const SHARE_OF_PATHS = 0.25;

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

/** What a path asks for, whatever comes after it. */
interface Place {
  route: Route | null;
  access: Access;
  /** `null` when the query says what is looked up. */
  selected: Selected | null;
}

/** What is looked up, and what tells it from another. */
type Selected = Pick<Asked, "selection" | "selectionKey">;

/** Makes a reader of URLs for a route table. */
export function createUrlReader(routes: readonly Route[]): (url: string) => AtHand<Asked> {
  const findRoute = createRouter(routes);
  const cacheOf = <T>(maxWeight: number) =>
    new Cache<T>({
      maxWeight,
      weigh: (_, text) => ENTRY_OVERHEAD + COPIES_OF_URL * text.length,
      // They are all made out of the text alone, and anybody may ask for any.
      keptAtOnce: "none",
    });
  const urls = cacheOf<Asked>(MAX_CACHED_CHARACTERS * (1 - SHARE_OF_PATHS));
  const places = cacheOf<Place>(MAX_CACHED_CHARACTERS * SHARE_OF_PATHS);

  const findPlace = async (path: string): Promise<Place> => {
    const match = await findRoute(path);
    return {
      route: match?.route ?? null,
      access: match?.route.access ?? (DOCUMENT_PATHS.test(path) ? "token or basic" : "token"),
      selected: selectedByPath(match),
    };
  };

  return (url) => {
    const { path, search } = splitUrl(url);
    if (path.length + search.length > MAX_CACHED_URL_CHARACTERS) {
      return use(findPlace(path), (place) => readSearch(search, place));
    }
    return urls.get(
      path + search,
      () => use(places.get(path, () => findPlace(path)), (place) => readSearch(search, place)),
    );
  };
}

function readSearch(search: string, { route, access, selected }: Place): Asked {
  const schema = route?.parameters.query;
  const raw = schema ? rawParameters(new URLSearchParams(search), schema) : {};
  const { value: query, errors = {} } = schema ? readParameters(raw, schema) : { value: undefined };
  return {
    route,
    access,
    raw,
    errors,
    query,
    ...(selected ?? selectedByQuery(route, raw)),
    etag: etagMaker(route?.path, raw),
  };
}

function selectedByPath(match: RouteMatch | null): Selected | null {
  const resource = match?.route.resource;
  if (resource?.in === "query") return null;
  return withKey(resource ? resource.select(match?.parameters ?? {}) : { kind: "none" });
}

function selectedByQuery(route: Route | null, raw: RawParameters): Selected {
  const resource = route?.resource;
  return withKey(resource?.in === "query" ? selectByParameters(raw, resource) : { kind: "none" });
}

function withKey(selection: Selection): Selected {
  return { selection, selectionKey: JSON.stringify(selection) };
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
