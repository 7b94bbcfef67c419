/** Tools over a service that answers as told. */
import { connect, type Connection } from "../connect.ts";
import { type FakeApi, startFakeApi } from "../fake_api.ts";

const running: Array<FakeApi | Connection> = [];

/** A client of the tools over a service that answers so. */
export async function over(answer: (request: Request) => Response | Promise<Response>) {
  const api = startFakeApi(answer);
  const connection = await connect(api.url);
  running.unshift(connection, api);
  return { api, ...connection };
}

/** The query of what was asked last. */
export function queryOf(api: FakeApi): URLSearchParams {
  return new URL(api.asked.at(-1)?.url ?? "", api.url).searchParams;
}

/** What the service says of a thing that is not there. */
export const notFound = (): Response => Response.json({ message: "Not Found" }, { status: 404 });

/** Ends what `over` has started since. */
export async function closeAll(): Promise<void> {
  for (const one of running.splice(0)) await one.close();
}
