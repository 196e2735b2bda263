{% test unique_together(model, columns) %}
select {{ columns | join(', ') }} from {{ model }} group by {{ columns | join(', ') }} having count(*) > 1
{% endtest %}
