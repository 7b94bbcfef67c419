/**
 * The span that the runtime makes for a request when telemetry is on (`OTEL_DENO=true`). It knows
 * the URL and not the route, without which requests cannot be told apart by what they ask for.
 */

/** As much of OpenTelemetry's API as is used; the runtime registers it, so no package is needed. */
interface TelemetryApi {
  context?: { active(): { getValue(key: symbol): unknown } | undefined };
}

interface Span {
  setAttribute(name: string, value: string): void;
  updateName(name: string): void;
}

// Both names are fixed by @opentelemetry/api 1.x, so that several copies of it find each other.
const API = Symbol.for("opentelemetry.js.api.1");
const SPAN = Symbol.for("OpenTelemetry Context Key SPAN");

const api = (globalThis as unknown as Record<symbol, TelemetryApi | undefined>)[API];

/** Names the span of the running request after its route, as OpenTelemetry's conventions want it. */
export function nameSpan(method: string, route: string): void {
  if (api === undefined) return;
  const span = api.context?.active()?.getValue(SPAN) as Span | undefined;
  span?.updateName(`${method} ${route}`);
  span?.setAttribute("http.route", route);
}
