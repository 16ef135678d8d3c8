import{t as e}from"./libesm-DrFd0pAg.js";var t=500;function n(n,a){let o=e(r(n),r(a),{timeout:t});return o?o.flatMap(e=>i(e.value,e.added?`added`:e.removed?`removed`:`equal`)):[...i(n,`removed`),...i(a,`added`)]}var r=e=>e===``||e.endsWith(`
`)?e:`${e}\n`;function i(e,t){return e===``?[]:e.replace(/\n$/,``).split(`
`).map(e=>({kind:t,text:e}))}export{n as lineDiff};