/**
 * The span that the runtime creates for a request when telemetry is on (`OTEL_DENO=true`). It has
 * the URL but not the route, by which traces are grouped.
 */

/** The part of OpenTelemetry's API that is used. The runtime registers it: no package is needed. */
interface TelemetryApi {
  context?: { active(): { getValue(key: symbol): unknown } | undefined };
}

interface Span {
  setAttribute(name: string, value: string): void;
  updateName(name: string): void;
}

// Both names are fixed by @opentelemetry/api 1.x.
const API = Symbol.for("opentelemetry.js.api.1");
const SPAN = Symbol.for("OpenTelemetry Context Key SPAN");

const api = (globalThis as unknown as Record<symbol, TelemetryApi | undefined>)[API];

/**
 * Names the span of the running request after its route, as the conventions of OpenTelemetry
 * require; `undefined` while telemetry is off.
 */
export const nameSpan = api && ((method: string, route: string): void => {
  const span = api.context?.active()?.getValue(SPAN) as Span | undefined;
  span?.updateName(`${method} ${route}`);
  span?.setAttribute("http.route", route);
});
