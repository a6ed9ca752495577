"""Any REST API, described in YAML.

    connections:
      shop:
        provider: http
        base_url: https://api.example.com/v1
        auth: {type: bearer}                    # the secret named `token`; also basic, header, none
        kinds:
          Widget:
            read:   {path: "/widgets/{id}", item: /data}
            create: {method: POST, path: /widgets, id: /data/id}    # or id: location, id: name
            update: {method: PATCH, path: "/widgets/{id}", body: merge}    # or PUT; changed, json-patch, whole, desired
            delete: {path: "/widgets/{id}"}
            list:   {path: /widgets, items: /items, id: /id, next: {cursor: {pointer: /next, param: cursor}}}
            find:   {by: [/name]}
            etag: header
            conditional: true
            status: {unsettled: {pointer: /state, values: [creating, updating]}}
            attribution: {who: /updated_by, at: /updated_at}               # or just /updated_by
            profile: {rules: [{path: /revision, class: read_only}, {path: "/updated_*", class: read_only}]}

Belongs here: speaking HTTP, and turning each way an answer can be wrong into the one reading or refusal it means. Must
not be here: any decision, and any retry. The text of an answer never reaches a message, unless `error` names a place in
it to quote; and then without secrets and without anything that was sent. `attribution` quotes the name of a writer.
"""
