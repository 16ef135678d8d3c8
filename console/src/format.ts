// Numbers, times, sizes and money by `Intl`, in a language and in the browser's zone.

import { language } from "./preferences.svelte";

const locale = () => (language() === "zh-cn" ? "zh-CN" : "en-GB");

export function number(value: number): string {
  return new Intl.NumberFormat(locale()).format(value);
}

/** A day and a time, to the second. */
export function time(milliseconds: number): string {
  return new Intl.DateTimeFormat(locale(), { dateStyle: "medium", timeStyle: "medium" }).format(milliseconds);
}

/** As `time`, with the name of the zone: for titles and heads. */
export function timeWithZone(milliseconds: number): string {
  return `${time(milliseconds)} ${zone()}`;
}

export function zone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** "3 minutes ago". */
export function ago(milliseconds: number, now: number = Date.now()): string {
  const seconds = (milliseconds - now) / 1000;
  const steps: [Intl.RelativeTimeFormatUnit, number][] = [["day", 86_400], ["hour", 3600], ["minute", 60], ["second", 1]];
  const [unit, length] = steps.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1];
  return new Intl.RelativeTimeFormat(locale(), { numeric: "auto" }).format(Math.round(seconds / length), unit);
}

/** "340 ms", "1.8 s", "2 min 5 s". */
export function duration(milliseconds: number): string {
  const unit = (value: number, name: string, digits = 0) =>
    new Intl.NumberFormat(locale(), { style: "unit", unit: name, maximumFractionDigits: digits }).format(value);
  if (milliseconds < 1000) return unit(Math.round(milliseconds), "millisecond");
  if (milliseconds < 60_000) return unit(milliseconds / 1000, "second", 1);
  const seconds = Math.round(milliseconds / 1000);
  return `${unit(Math.floor(seconds / 60), "minute")} ${unit(seconds % 60, "second")}`;
}

/** "812 bytes", "9.1 kB". */
export function bytes(value: number): string {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"];
  const step = Math.min(Math.floor(Math.log10(Math.max(value, 1)) / 3), units.length - 1);
  const unitDisplay = step === 0 ? "long" : "short";
  const format = { style: "unit", unit: units[step] ?? "byte", unitDisplay, maximumFractionDigits: 1 } as const;
  return new Intl.NumberFormat(locale(), format).format(value / 1000 ** step);
}

/** Costs by currency, in millionths of it: "US$0.0012". Apps may count in what is no currency: "3 credits". */
export function cost(millionths: Readonly<Record<string, number>>): string {
  const one = ([currency, value]: [string, number]) => {
    const isCode = /^[a-z]{3}$/i.test(currency);
    const money = isCode ? ({ style: "currency", currency } as const) : {};
    const text = new Intl.NumberFormat(locale(), { ...money, maximumFractionDigits: 6 }).format(value / 1e6);
    return isCode ? text : `${text} ${currency}`;
  };
  return Object.entries(millionths).map(one).join(" + ");
}
