// @ts-nocheck
import { http } from "@yao/runtime";

export interface Page {
  success: boolean;
  error?: string;
}

export function Address(text: string): string | null {
  return text.match(/https?:\/\/\S+/)?.[0] ?? null;
}

export function Fetch(url: string): Page {
  const answer = http.Get(url);
  return { success: answer.status === 200, error: answer.message };
}
