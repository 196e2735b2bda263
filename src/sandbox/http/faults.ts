import { isObject, parseExact } from '../../core/json.ts';
import { jsonAnswer, Refusal, type SandboxAnswer, type SandboxRequest } from './messages.ts';

/**
 * A fault of lists. `empty`: a list without rows. `endless`: fresh page tokens for ever, with the rows of
 * the first page. `forbidden`: 403. `nameless`: the first row of each page has no id. `unreadable`: no row
 * of a page can be read.
 */
export type Fault = 'empty' | 'endless' | 'forbidden' | 'nameless' | 'unreadable';

/**
 * The faults of the sandbox, by path without version and query, `/inboxes/20117/tags`, or by the name of a
 * kind of lists, `tags`. That of the path wins.
 */
export type Faults = Map<string, Fault>;

function faultOf(faults: Faults, { path }: SandboxRequest): Fault | undefined {
  const bare = path.replace(/^\/v1/, '').replace(/\?.*$/, '');
  const [, kind = 'inboxes'] = /^\/inboxes(?:\/[^/]+\/([^/]+))?$/.exec(bare) ?? [null, ''];
  return faults.get(bare) ?? faults.get(kind);
}

/** The request as the operations serve it, despite a fault of its path. @throws Refusal 403 */
export function beforeFault(faults: Faults, request: SandboxRequest): SandboxRequest {
  const fault = faultOf(faults, request);
  if (fault === 'forbidden') throw new Refusal(403, 'Forbidden: the key may not read this');
  if (fault !== 'endless') return request;
  return { ...request, path: request.path.replace(/&?next_page=[^&]*/, '') };
}

/** The answer, changed by a fault of its path. */
export function afterFault(faults: Faults, request: SandboxRequest, answer: SandboxAnswer): SandboxAnswer {
  const fault = faultOf(faults, request);
  const body = fault === undefined || answer.status !== 200 ? null : parseExact(answer.body);
  const page = isObject(body) && isObject(body['data']) ? body['data'] : body;
  if (!isObject(page) || !Array.isArray(page['results'])) return answer;
  const rows = page['results'] as Record<string, unknown>[];
  if (fault === 'empty') Object.assign(page, { results: [], pagination: { next_page: null } });
  if (fault === 'endless') page['pagination'] = { next_page: crypto.randomUUID() };
  if (fault === 'nameless') delete rows[0]?.['id'];
  if (fault === 'unreadable') for (const row of rows) Object.assign(row, { status: 7, email: 7, name: 7 });
  return jsonAnswer(200, body);
}
