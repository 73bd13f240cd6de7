// Replies of the daemon, as far as the page reads them. `docs/api.md` has all of them.
export interface Writer { id: string; type: string; agent: string; agent_session: string; turn: string; tool_call: string; model: string; uid: number | null; parent?: string }
export interface Reply { ok: boolean; message: string; error?: string; suggested_action?: string; next?: any; warnings?: { type: string; message: string }[]; [field: string]: any }
export interface StoryFile { path: string; status: string; moved_from?: string; version: string; before?: string; added?: number; removed?: number; binary?: boolean; symbols?: string[]; probable?: boolean }
export interface StoryCall { at: string; label: string; command?: string; burst?: number; batch?: number; end?: string; writes: number; paths: string[] }
export interface Story {
  form: string; seq: number; first: number; at: string; ended_at: string; writer: Writer; probable?: boolean; unclaimed?: boolean; whole: boolean;
  prompt?: string; calls?: StoryCall[]; calls_count?: number; files: StoryFile[]; files_count: number; files_more?: number; folders?: string[]; writes: number; unread?: number;
  refused?: { path: string; code: string }[]; refused_count?: number; commands?: string[]; failed?: boolean; burst?: number; status?: number; by_others?: number; head_before?: string; head_after?: string; hint?: string;
  candidates?: { burst: number; label: string; writer: string }[]; how?: string; undone?: number[]; name?: string; note?: string;
}
export interface Hunk { old_start: number; old_lines: number; new_start: number; new_lines: number; lines: string[]; heading?: string }
export interface Difference { path: string; status: string; from: string | null; to: string | null; hunks?: Hunk[]; moved_from?: string; binary?: boolean; uncaptured?: string; uncaptured_told?: string; truncated?: boolean; entry?: string; mode?: string[]; patch?: string; sides?: any; others?: string[] }
export interface Rec { seq: number; at: string; kind: string; path: string | null; version: string | null; base: string | null; batch: number; writer: Writer; evidence: string | null; to?: string; code?: string; why?: string; unclaimed?: boolean; how?: string; hint?: string; entry?: string; stat?: { added?: number; removed?: number } }
